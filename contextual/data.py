"""Named data: where each file is from, its checksum, its licence. Not taught.

The files lie in the folder `data/` of the book, which is `contextual/stored/` once the
package is installed; `data/README.md` names sources, licences and the commands that
made them. A file that is not, bit for bit, the one named here is refused.
"""

from __future__ import annotations

import functools
import hashlib
import io
import lzma
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contextual import inputs
from contextual.download import fetch_model as fetch_model
from contextual.tokens import BytePairTokenizer

TOKENIZER, ROWS = "smollm2_tokenizer.json.gz", "smollm2_rows.npz"
HEAD = "smollm2_head.npz"
GLOVE, GLOSSES = "glove_20k.npz", "glosses.txt.xz"
ATTENTION = "smollm2_attention.npz"

SHA256 = {  # of the stored files; tools/build_*.py print them
    TOKENIZER: "d89928e3939a54e783467d245905fddaa9282d50829427532c177ffbb590da38",
    ROWS: "1187e780b59c998d8848cee203d6dd0ef93a613105fc7812430d1cad4419348e",
    HEAD: "dd09058140f5a919613d85d611b12cfab291fb96470277d2874657df15bfe37f",
    GLOVE: "c5890bd68299e77c6e6025587f76da0618b462dfd2d70cdd56e950fcd65a0710",
    GLOSSES: "5d3b6b37945e5d4d8704b0a74ca0bc6a7b21742e509590921c692fbf3286e1c0",
    ATTENTION: "8815d14cc905d44979b0815cdf2aac6d1df43f21cadea05511c876cb530a71de",
}


def data_folder() -> Path:
    """Where the stored files are: inside an installed package, or beside it."""
    here = Path(__file__).resolve().parent
    installed = here / "stored"
    return installed if installed.is_dir() else here.parent / "data"


def read_stored(name: str) -> bytes:
    """A stored file, whole. ValueError if it is damaged, FileNotFoundError if gone."""
    path = data_folder() / name
    cure = "fetch it again (git checkout -- data) or reinstall the package."
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: {cure}")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != SHA256[name]:
        raise ValueError(f"{path} is damaged, its checksum is wrong: {cure}")
    return content


def read_arrays(name: str) -> dict[str, NDArray[Any]]:
    """The arrays of a stored .npz file, by name; never a pickled object."""
    with np.load(io.BytesIO(read_stored(name)), allow_pickle=False) as arrays:
        return dict(arrays)


@functools.cache
def load_tokenizer() -> BytePairTokenizer:
    """SmolLM2's tokenizer, 49,152 tokens: read once, then always the same one."""
    read_stored(TOKENIZER)
    return BytePairTokenizer.load(data_folder() / TOKENIZER)


@dataclass(frozen=True, eq=False)
class TokenRows:
    """Some rows of SmolLM2's token table: `rows[5461]` is the row of token 5461.

    ids: (n,) rising; table: (n, 576) float32, row i belongs to token ids[i].
    random_ids: (400,) drawn from all 49,152 tokens; word_ids: (300,) drawn from the
    lower-case words with a space before and an id below 6,000: two populations to
    compare a cosine with. bank_ids: (15,) the tokens nearest to " bank" in the whole
    table, best first.
    """

    ids: NDArray[np.int64]
    table: NDArray[np.float32]
    random_ids: NDArray[np.int64]
    word_ids: NDArray[np.int64]
    bank_ids: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, token_id: object) -> bool:
        return token_id in self.ids

    def __iter__(self) -> Iterator[int]:
        return iter(self.ids.tolist())

    def __getitem__(self, token_ids: ArrayLike) -> NDArray[np.float32]:
        """Rows of one id, (576,), or of an array of ids, (..., 576); always a copy.

        ValueError for an id whose row is not stored.
        """
        try:
            wanted = np.asarray(token_ids)
        except (TypeError, ValueError, RuntimeError) as error:
            raise ValueError(f"token ids must be whole numbers: {error}.") from None
        if wanted.dtype.kind not in "iu":
            raise ValueError(f"token ids must be whole numbers, not {wanted.dtype}.")
        place = np.searchsorted(self.ids, wanted).clip(max=len(self.ids) - 1)
        strange = wanted[self.ids[place] != wanted]
        if strange.size:
            raise ValueError(
                f"the row of token {strange.flat[0]} is not among the {len(self.ids)} "
                "rows stored with the book; fetch_model() gets the whole table."
            )
        return self.table[place].copy()


def load_rows() -> TokenRows:
    """The rows of SmolLM2's token table that the chapters show, as float32.

    Bit for bit the model's own: stored as its Q8_0 blocks, in which every 32 numbers
    share a scale.
    """
    arrays = read_arrays(ROWS)
    scales, quants = arrays["scales"].astype(np.float32), arrays["quants"]
    blocks = quants.reshape(*scales.shape, 32) * scales[:, :, None]  # (n, 18, 32)
    names = ("ids", "random_ids", "word_ids", "bank_ids")
    ids, *samples = (arrays[name].astype(np.int64) for name in names)
    return TokenRows(ids, blocks.reshape(quants.shape), *samples)


@dataclass(frozen=True, eq=False)
class StoredHead:
    """Queries and keys of one head on one sentence, not yet turned by their places.

    words: T of them; q, k: (T, d_head) float32, row i belongs to words[i]; base: the
    model's, for `rotate`; longest: the text it was made for, in tokens; layer and head:
    which one, both counted from 0.
    """

    words: Sequence[str]
    q: NDArray[np.float32]
    k: NDArray[np.float32]
    base: float
    longest: int
    layer: int
    head: int


def load_head() -> StoredHead:
    """Layer 16, head 0 of SmolLM2 on *The fisherman sat on the river bank*.

    Computed by `contextual.model` from the model's weights, in float32.
    """
    arrays = read_arrays(HEAD)
    pieces = [load_tokenizer().decode([int(i)]) for i in arrays["token_ids"]]
    return StoredHead(
        words=tuple(piece.strip() for piece in pieces),
        q=arrays["q"],
        k=arrays["k"],
        base=float(arrays["base"]),
        longest=int(arrays["longest"]),
        layer=int(arrays["layer"]),
        head=int(arrays["head"]),
    )


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words and their vectors: `vectors["king"]` is a row of `table`, (d_model,).

    words: V different words; table: (V, d_model), row i belongs to words[i].
    ValueError if the two do not fit; KeyError, with near spellings, for another word.
    """

    words: Sequence[str]
    table: NDArray[np.floating[Any]]
    _places: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        words, table = check_words(self.words), inputs.as_array(self.table, "table", 2)
        if table.ndim != 2 or len(words) != len(table):
            raise ValueError(
                f"{len(words)} words do not fit a table of shape {table.shape}: "
                "it needs one row a word."
            )
        object.__setattr__(self, "words", words)
        object.__setattr__(self, "table", table.copy())
        object.__setattr__(self, "_places", {word: i for i, word in enumerate(words)})

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and word in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __repr__(self) -> str:
        return f"<WordVectors of {len(self)} words, {self.table.shape[1]} numbers each>"

    def index(self, word: str) -> int:
        """The row of a word."""
        if word not in self:
            raise inputs.unknown_word(word, self.words)
        return self._places[word]

    def __getitem__(self, word: str) -> NDArray[np.floating[Any]]:
        return self.table[self.index(word)].copy()


def check_words(words: Iterable[str]) -> tuple[str, ...]:
    """The words as a tuple. ValueError for what is no str, and for a word twice."""
    if isinstance(words, str) or not isinstance(words, Iterable):
        raise ValueError(f"words must be a list of str, not {words!r}.")
    words = tuple(words)
    strange = [word for word in words if not isinstance(word, str)]
    if strange:
        raise ValueError(f"a word is a str, not {strange[0]!r}.")
    double = [word for word, n in Counter(words).items() if n > 1]
    if double:
        raise ValueError(f"the word {double[0]!r} is there twice; each needs one row.")
    return words


def load_glove() -> WordVectors:
    """GloVe 6B: 20,000 frequent words, lower case, most frequent first, (20000, 50).

    Stored as int8 with a scale a row; the cosine with the original is above .9998.
    """
    arrays = read_arrays(GLOVE)
    words = arrays["words"].tobytes().decode("utf-8").split("\n")
    scales = arrays["scales"].astype(np.float32)
    return WordVectors(words, scales[:, None] * arrays["quants"])


def load_glosses() -> list[str]:
    """WordNet's definitions and examples, lower case, one a line, words only.

    116,376 lines, 1.46 million words. `line.split()` gives the words of a line.
    """
    return lzma.decompress(read_stored(GLOSSES)).decode("utf-8").splitlines()
