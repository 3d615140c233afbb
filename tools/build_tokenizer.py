"""Write data/smollm2_tokenizer.json.gz: SmolLM2's tokenizer, from the model file.

    python -m tools.build_tokenizer [model.gguf]

Reads with the `gguf` package, not with the book's own reader, and compares every one
of the 49,152 tokens with the list in the file before anything is written. Without an
argument the model is fetched (93 MB) or taken from the cache.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from gguf import GGUFReader

from contextual.data import fetch_model
from contextual.tokens import BytePairTokenizer

TARGET = Path(__file__).parents[1] / "data" / "smollm2_tokenizer.json.gz"
SPECIAL = 3  # GGUF's token type "control"


def letters_of_bytes() -> dict[str, int]:
    """GPT-2's alphabet: the letter that stands for each byte in the model file.

    Printable Latin-1 letters stand for themselves; the other 68 bytes, in order, get
    the letters from U+0100 on. (Radford 2019, `bytes_to_unicode`.)
    """
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {
        chr(256 + i): byte for i, byte in enumerate(others)
    }


def read_tokenizer(path: Path) -> tuple[BytePairTokenizer, list[bytes]]:
    """The tokenizer in a GGUF file, and the bytes of every token as listed there."""
    fields = GGUFReader(path).fields
    names, kinds, merges = (
        fields[f"tokenizer.ggml.{key}"].contents()
        for key in ("tokens", "token_type", "merges")
    )
    letters, id_of = letters_of_bytes(), {name: i for i, name in enumerate(names)}
    specials = {
        name: i for name, i in id_of.items() if int(kinds[i]) == SPECIAL
    }  # taken literally: a special token's name is its text
    byte_ids = {letters[n]: id_of[n] for n in letters if n in id_of}
    pairs = [(id_of[left], id_of[right]) for left, right in map(str.split, merges)]
    pieces = [
        name.encode() if name in specials else bytes(letters[c] for c in name)
        for name in names
    ]
    return BytePairTokenizer(byte_ids, pairs, specials), pieces


def main(arguments: list[str]) -> None:
    """Read, compare with the file's own list, write, and say what was written."""
    path = Path(arguments[0]) if arguments else fetch_model()
    tokenizer, pieces = read_tokenizer(path)
    if tokenizer.pieces != pieces:
        raise SystemExit("The rebuilt tokens differ from those in the model file.")
    tokenizer.save(TARGET)
    print(f"{len(pieces)} tokens equal those in the file: {len(tokenizer.specials)}")
    print(f"specials, {len(tokenizer.byte_ids)} bytes, {len(tokenizer.merges)} merges")
    missing = [f"{b:02x}" for b in range(256) if b not in tokenizer.byte_ids]
    print(f"bytes without a token ({len(missing)}): {' '.join(missing)}")
    print(hashlib.sha256(TARGET.read_bytes()).hexdigest(), TARGET.name)


if __name__ == "__main__":
    main(sys.argv[1:])
