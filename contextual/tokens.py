"""Text to token ids and back: byte-pair encoding, taught in chapter 01.

Sources: Gage 1994 (the pair merge), Sennrich 2016 (on words), Radford 2019 (on bytes).
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import pairwise

import numpy as np
import regex
from numpy.typing import ArrayLike, NDArray

from contextual import inputs, tokenizer_file

Pair = tuple[int, int]
Ints = NDArray[np.integer]

PATTERN = regex.compile(
    r"\p{N}"  # one digit at a time
    r"|'s|'t|'re|'ve|'m|'ll|'d"  # English endings
    r"| ?\p{L}+"  # a word, with the space before it
    r"| ?[^\s\p{L}\p{N}]+"  # marks, with the space before them
    r"|\s+(?![^\s\p{N}])|\s+"  # other white space; the last space joins a word
)

GAP = -1  # stands between words: no pair reaches across it


def pre_tokens(text: str) -> list[str]:
    """Cut text into chunks that no token may cross; joined, they are the text.

    Pattern: Radford 2019, with every digit alone as SmolLM2 has it.
    Raises ValueError if `text` is not a str.
    """
    return PATTERN.findall(inputs.as_text(text))


def to_bytes(text: str) -> bytes:
    """UTF-8 bytes of any str, lone surrogates included, so that nothing is lost."""
    return text.encode("utf-8", "surrogatepass")


def lay_out(text: str) -> tuple[Ints, Ints]:
    """Every distinct pre-token once, as bytes in one row with a GAP around each.

    Returns ids (N,) and counts (N,): how often the pre-token at that place occurs.
    """
    ids, counts = [GAP], [0]
    for chunk, n in Counter(pre_tokens(text)).items():
        data = to_bytes(chunk)
        ids += [*data, GAP]
        counts += [n] * len(data) + [0]
    return np.array(ids, np.int32), np.array(counts, np.int32)


def count_pairs(ids: Ints, counts: Ints, at: Ints) -> Counter[Pair]:
    """How often each pair of neighbours occurs that begins at one of the places `at`.

    Overlaps count: `aaa` holds the pair aa twice. No pair reaches across a GAP.
    """
    pairs: Counter[Pair] = Counter()
    inside = at[(ids[at] != GAP) & (ids[at + 1] != GAP)]
    lefts, rights, seen = ids[inside], ids[inside + 1], counts[inside]
    for left, right, n in zip(lefts.tolist(), rights.tolist(), seen.tolist()):
        pairs[left, right] += n
    return pairs


def best_pair(by_count: Mapping[int, set[Pair]], pieces: list[bytes]) -> Pair | None:
    """The pair seen most often, or None if there is none left.

    by_count: a count -> the pairs seen that often. Tie rule: the pair whose bytes
    (left, then right) are greatest. Any fixed rule would do; without one, the same
    words in another order would give other tokens.
    """
    most = max((n for n, pairs in by_count.items() if pairs), default=0)
    if most == 0:
        return None
    return max(by_count[most], key=lambda pair: ([pieces[i] for i in pair], pair))


def find_pair(ids: Ints, pair: Pair) -> Ints:
    """Places where `pair` begins, left to right, none overlapping another.

    In `aaaaa` the pair aa begins at the first and the third a: the second is taken.
    """
    at = np.flatnonzero((ids[:-1] == pair[0]) & (ids[1:] == pair[1]))
    if pair[0] == pair[1]:  # only twins can overlap: keep every other one of a run
        run_begins = np.where(np.diff(at, prepend=-2) > 1, at, 0)
        at = at[(at - np.maximum.accumulate(run_begins)) % 2 == 0]
    return at


def merge_pair(
    ids: Ints, counts: Ints, pair: Pair, new_id: int
) -> tuple[Ints, Ints, Counter[Pair]]:
    """Glue `pair` into `new_id` everywhere; also say how the pair counts change.

    Returns ids and counts, one place shorter for every merge, and the changes: only
    pairs that touch a merge are counted again, not the whole text.
    """
    at = find_pair(ids, pair)
    change: Counter[Pair] = Counter()
    change.subtract(count_pairs(ids, counts, np.unique([at - 1, at, at + 1])))

    ids = ids.copy()
    ids[at] = new_id
    ids, counts = np.delete(ids, at + 1), np.delete(counts, at + 1)
    at = at - np.arange(len(at))  # every merge to the left took one place away
    change.update(count_pairs(ids, counts, np.unique([at - 1, at])))
    return ids, counts, change


def train_tokenizer(text: str, n_merges: int) -> BytePairTokenizer:
    """Learn `n_merges` merges from the counts of `text`; ids 0-255 are the bytes.

    Fewer merges if no pair is left, with a warning. ValueError for a negative number.
    """
    n_merges = inputs.as_size(n_merges, "n_merges", at_least=0)
    pieces = [bytes([byte]) for byte in range(256)]
    merges: list[Pair] = []
    totals: Counter[Pair] = Counter()
    by_count: defaultdict[int, set[Pair]] = defaultdict(set)
    ids, counts = lay_out(text)
    change = count_pairs(ids, counts, np.arange(len(ids) - 1))
    while len(merges) < n_merges:
        for pair, n in change.items():
            by_count[totals[pair]].discard(pair)
            totals[pair] += n
            by_count[totals[pair]].add(pair)
        best = best_pair(by_count, pieces)
        if best is None:
            inputs.warn_stopped(len(merges), n_merges)
            break
        ids, counts, change = merge_pair(ids, counts, best, len(pieces))
        merges.append(best)
        pieces.append(pieces[best[0]] + pieces[best[1]])
    return BytePairTokenizer({byte: byte for byte in range(256)}, merges)


def merge_by_rank(ids: list[int], merge_ids: Mapping[Pair, int]) -> list[int]:
    """Apply learned merges to the ids of one pre-token, the earliest learned first.

    merge_ids: pair -> the id it becomes; ids rise in the order of learning. A heap
    hands out the next merge, so n ids take about n·log n steps, not n².
    """
    ids, end = [*ids, GAP], len(ids)
    before, after = list(range(-1, end)), list(range(1, end + 2))
    waiting = [(merge_ids[p], i) for i, p in enumerate(pairwise(ids)) if p in merge_ids]
    heapify(waiting)
    while waiting:
        new_id, i = heappop(waiting)
        j = after[i]
        if merge_ids.get((ids[i], ids[j])) != new_id:
            continue  # one of the two was merged away meanwhile
        ids[i], ids[j] = new_id, GAP
        after[i] = after[j]
        before[after[i]] = i
        for left, right in ((before[i], i), (i, after[i])):
            if left >= 0 and (pair := (ids[left], ids[right])) in merge_ids:
                heappush(waiting, (merge_ids[pair], left))
    return [i for i in ids if i != GAP]


def split_specials(text: str, specials: Mapping[str, int]) -> list[str]:
    """Cut special tokens such as <|endoftext|> out of a text; joined, it is the text.

    Returns plain text and specials in turn. Of two that fit, the longer one is taken.
    """
    if not specials:
        return [inputs.as_text(text)]
    longest_first = sorted(specials, key=len, reverse=True)
    either = "|".join(regex.escape(special) for special in longest_first)
    return regex.split(f"({either})", inputs.as_text(text))


def encode(tokenizer: BytePairTokenizer, text: str) -> list[int]:
    """Token ids of a text. A byte that has no token vanishes (SmolLM2 lacks 21).

    Every distinct pre-token is worked out once a call, then looked up.
    """
    ids: list[int] = []
    known: dict[str, list[int]] = {}
    for part in split_specials(text, tokenizer.specials):
        if part in tokenizer.specials:
            ids.append(tokenizer.specials[part])
            continue
        for chunk in pre_tokens(part):
            if chunk not in known:
                data = [tokenizer.byte_ids.get(byte) for byte in to_bytes(chunk)]
                found = [i for i in data if i is not None]
                known[chunk] = merge_by_rank(found, tokenizer.merge_ids)
            ids += known[chunk]
    return ids


def decode(tokenizer: BytePairTokenizer, token_ids: ArrayLike) -> str:
    """The text of token ids, (T,). Half a character becomes the sign U+FFFD.

    Raises ValueError for an id that is no whole number or not in the vocabulary.
    """
    ids = inputs.as_one_text(token_ids, len(tokenizer.pieces))
    data = b"".join(tokenizer.pieces[i] for i in ids.tolist())
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


@dataclass(repr=False)
class BytePairTokenizer:
    """What a tokenizer knows: ids of bytes and specials, and merges in order.

    `pieces[i]` is the bytes of token i; `merge_ids[pair]` is the id a pair becomes.
    """

    byte_ids: dict[int, int]
    merges: list[Pair]
    specials: dict[str, int] = field(default_factory=dict)
    pieces: list[bytes] = field(init=False)
    merge_ids: dict[Pair, int] = field(init=False)

    def __post_init__(self) -> None:
        self.byte_ids, self.merges, self.specials = known = tokenizer_file.checked(self)
        self.pieces = tokenizer_file.list_pieces(*known)
        first = len(self.pieces) - len(self.merges)  # merge r makes the token first + r
        self.merge_ids = {pair: first + r for r, pair in enumerate(self.merges)}

    def __repr__(self) -> str:
        return f"<BytePairTokenizer of {self.vocab_size} tokens>"

    @property
    def vocab_size(self) -> int:
        return len(self.pieces)

    def pre_tokens(self, text: str) -> list[str]:
        return pre_tokens(text)

    def encode(self, text: str) -> list[int]:
        return encode(self, text)

    def decode(self, token_ids: ArrayLike) -> str:
        return decode(self, token_ids)

    def tokens(self, text: str) -> list[bytes]:
        return [self.pieces[i] for i in self.encode(text)]

    def save(self, path: str | os.PathLike[str]) -> None:
        tokenizer_file.write(path, self.byte_ids, self.merges, self.specials)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> BytePairTokenizer:
        return tokenizer_file.read(path, BytePairTokenizer)
