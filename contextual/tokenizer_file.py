"""Reads, writes and checks what a tokenizer knows; one JSON file. Not taught."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

FORMAT = "contextual byte-pair tokenizer 1"
LONGEST = 2**24  # bytes in a token: a hostile file doubles a token at every merge

Content = tuple[dict[int, int], list[tuple[int, int]], dict[str, int]]


def write(
    path: str | os.PathLike[str],
    byte_ids: dict[int, int],
    merges: list[tuple[int, int]],
    specials: dict[str, int],
) -> None:
    """Write byte ids, merges and specials; gzip if the name ends in .gz."""
    path = Path(path)
    content = {
        "format": FORMAT,
        "byte_ids": sorted(byte_ids.items()),
        "merges": merges,
        "specials": specials,
    }
    data = json.dumps(content).encode("utf-8")
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def read(path: str | os.PathLike[str]) -> Content:
    """What `write` wrote. ValueError, naming the file, if it holds anything else."""
    data = Path(path).read_bytes()
    try:
        content = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
        if content["format"] != FORMAT:
            raise ValueError(f"its format is {content['format']!r}")
        byte_ids = {int(byte): int(i) for byte, i in content["byte_ids"]}
        merges = [(int(left), int(right)) for left, right in content["merges"]]
        specials = {str(text): int(i) for text, i in content["specials"].items()}
    except (
        ValueError,
        KeyError,
        TypeError,
        OSError,
        EOFError,
        AttributeError,
    ) as error:
        reason = f"{type(error).__name__}: {error}"
        raise ValueError(f"{path} is not a saved tokenizer ({reason}).") from None
    return byte_ids, merges, specials


def check_merge(left: int, right: int, pieces: list[bytes]) -> None:
    """Refuse a merge of a token that comes later, or one that gets absurdly long."""
    for i in (left, right):
        if not 0 <= i < len(pieces):
            raise ValueError(
                f"Merge {(left, right)} makes token {len(pieces)}: it cannot use {i}, "
                "only tokens that come before it."
            )
    if len(pieces[left]) + len(pieces[right]) > LONGEST:
        raise ValueError(f"Token {len(pieces)} is over {LONGEST} bytes long.")


def list_pieces(
    byte_ids: Mapping[int, int],
    merges: Iterable[tuple[int, int]],
    specials: Mapping[str, int],
) -> list[bytes]:
    """The bytes of every token, by id: specials and bytes as given, then the merges.

    With n specials and bytes together, merge r makes the token n + r.
    Raises ValueError if those n ids are not 0 to n − 1 or a merge uses a later id.
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
