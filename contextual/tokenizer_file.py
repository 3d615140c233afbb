"""Reads, writes and checks what a tokenizer knows; one JSON file. Not taught."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

FORMAT = "contextual byte-pair tokenizer 1"
LONGEST = 2**24  # bytes in a token: a hostile file doubles a token at every merge
MOST = 2**31  # ids
FAULTS = (
    *(ValueError, KeyError, TypeError, OSError, EOFError, AttributeError),
    *(zlib.error, OverflowError, RecursionError),
)

Pair = tuple[int, int]
Known = tuple[dict[int, int], list[Pair], dict[str, int]]
Made = TypeVar("Made")


def write(
    path: str | os.PathLike[str],
    byte_ids: Mapping[int, int],
    merges: list[Pair],
    specials: Mapping[str, int],
) -> None:
    """Write byte ids, merges and specials; gzip if the name ends in .gz."""
    path = Path(path)
    content = {
        "format": FORMAT,
        "byte_ids": sorted(byte_ids.items()),
        "merges": merges,
        "specials": dict(specials),
    }
    data = json.dumps(content).encode("utf-8")
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def read(path: str | os.PathLike[str], make: Callable[..., Made]) -> Made:
    """`make(byte_ids, merges, specials)` of what `write` wrote.

    ValueError, naming the file, if it holds anything else.
    """
    data = Path(path).read_bytes()
    try:
        content = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
        if content["format"] != FORMAT:
            raise ValueError(f"its format is {content['format']!r}")
        return make(dict(content["byte_ids"]), content["merges"], content["specials"])
    except FAULTS as error:
        reason = f"{type(error).__name__}: {error}"
        raise ValueError(f"{path} is not a saved tokenizer ({reason}).") from None


def whole(value: Any, what: str, end: int = MOST) -> int:
    """A whole number from 0 to end - 1, as an int of Python's own."""
    number = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not number or not 0 <= value < end:
        raise ValueError(
            f"{what} must be a whole number from 0 to {end - 1}: {value!r}"
        )
    return int(value)


def checked(tokenizer: Any) -> Known:
    """Copies of what was given, of plain ints and str; ValueError if it cannot be."""
    byte_ids, specials = tokenizer.byte_ids, tokenizer.specials
    if not isinstance(byte_ids, Mapping) or not isinstance(specials, Mapping):
        raise ValueError("byte_ids and specials must be dicts: byte or text -> id.")
    for text in specials:
        if not isinstance(text, str) or not text:
            raise ValueError(f"A special token is a str of one sign or more: {text!r}")
    try:
        pairs = [(left, right) for left, right in tokenizer.merges]
    except (TypeError, ValueError):
        raise ValueError("merges must be a list of pairs of ids.") from None
    return (
        {whole(b, "A byte", 256): whole(i, "An id") for b, i in byte_ids.items()},
        [(whole(left, "An id"), whole(right, "An id")) for left, right in pairs],
        {text: whole(i, "An id") for text, i in specials.items()},
    )


def check_merge(left: int, right: int, pieces: list[bytes]) -> None:
    """Refuse a merge of a token that comes later, or one that gets absurdly long."""
    for i in (left, right):
        if i >= len(pieces):
            raise ValueError(
                f"Merge {(left, right)} makes token {len(pieces)}: it cannot use {i}, "
                "only tokens that come before it."
            )
    if len(pieces[left]) + len(pieces[right]) > LONGEST:
        raise ValueError(f"Token {len(pieces)} is over {LONGEST} bytes long.")


def list_pieces(
    byte_ids: Mapping[int, int], merges: Iterable[Pair], specials: Mapping[str, int]
) -> list[bytes]:
    """The bytes of every token, by id: specials and bytes as given, then the merges.

    With n specials and bytes together, merge r makes the token n + r.
    Raises ValueError if those n ids are not 0 to n - 1 or a merge uses a later id.
    """
    first = {i: special.encode("utf-8") for special, i in specials.items()}
    first |= {i: bytes([byte]) for byte, i in byte_ids.items()}
    n = len(specials) + len(byte_ids)
    if sorted(first) != list(range(n)):
        raise ValueError(f"The ids of {n} bytes and specials are not 0 to {n - 1}.")
    pieces = [first[i] for i in range(n)]
    for left, right in merges:
        check_merge(left, right, pieces)
        pieces.append(pieces[left] + pieces[right])
    return pieces
