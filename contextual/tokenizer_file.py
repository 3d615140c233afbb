"""Reads and writes a tokenizer as one JSON file, compressed or not. Not taught."""

from __future__ import annotations

import gzip
import json
import os
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
