"""Checks on arguments: each says in one sentence what was wrong and what to do.

Not taught: the chapters' functions call these so that their own lines stay few.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def as_size(value: Any, name: str, at_least: int = 1) -> int:
    """A whole number that is at least `at_least`; anything else is a ValueError."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole:
        kind = type(value).__name__
        raise ValueError(f"{name} must be a whole number, not {value!r} ({kind}).")
    if value < at_least:
        raise ValueError(f"{name} must be at least {at_least}, not {value}.")
    return int(value)


def as_array(values: Any, name: str, min_ndim: int = 1) -> NDArray[Any]:
    """A real, non-empty array; integers become float64, floats keep their type."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{name} is not an array of numbers: {error}.") from None
    if array.dtype.kind not in "iuf":
        kind = array.dtype if array.dtype.kind != "O" else "ragged or mixed objects"
        raise ValueError(f"{name} must hold real numbers, not {kind}.")
    if array.ndim < min_ndim:
        raise ValueError(
            f"{name} needs at least {min_ndim} dimension(s), not shape {array.shape}."
        )
    if array.size == 0:
        raise ValueError(f"{name} is empty: its shape is {array.shape}.")
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def as_token_ids(values: ArrayLike, vocab_size: int) -> NDArray[np.int64]:
    """Row numbers of a table with `vocab_size` rows, any shape; never negative."""
    vocab_size = as_size(vocab_size, "vocab_size")
    try:
        ids = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"token_ids is not an array of numbers: {error}.") from None
    if ids.size == 0:
        raise ValueError("token_ids is empty: give at least one id.")
    if ids.dtype.kind not in "iu":
        raise ValueError(f"token_ids must be whole numbers, not {ids.dtype}.")
    wrong = ids[(ids < 0) | (ids >= vocab_size)]
    if wrong.size:
        raise ValueError(
            f"token id {wrong.flat[0]} is not a row of this table: "
            f"its {vocab_size} rows are numbered 0 to {vocab_size - 1}."
        )
    return ids.astype(np.int64)


def as_mask(mask: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """A boolean mask (True = may look) that fits scores of `shape`."""
    array = np.asarray(mask)
    if array.dtype.kind == "f":
        raise ValueError(
            "mask holds floats. Some tools add such a mask to the scores; here a mask "
            "is boolean and True = may look. From an additive mask: mask == 0."
        )
    if array.dtype != np.bool_:
        raise ValueError(
            f"mask holds {array.dtype}, which can be read both ways. Here True = may "
            "look: use mask.astype(bool) if 1 means may look, mask == 0 if 1 hides."
        )
    try:
        fits = np.broadcast_shapes(array.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"mask of shape {array.shape} does not fit scores of shape {shape}: "
            "its last two axes are (words that read, words that are read)."
        )
    return array


def as_text(text: Any, name: str = "text") -> str:
    """A string; bytes, numbers and None are refused with what to do."""
    if isinstance(text, str):
        return text
    hint = " Use .decode('utf-8') first." if isinstance(text, bytes) else ""
    raise ValueError(f"{name} must be a str, not {type(text).__name__}.{hint}")


def unknown_word(word: Any, words: Iterable[str]) -> KeyError:
    """The KeyError for a word that is not in the table, with the nearest spellings."""
    if not isinstance(word, str):
        return KeyError(f"a word is a str, not {type(word).__name__}.")
    known = list(words)
    near = [w for w in (word.lower(), word.strip().lower()) if w in set(known)]
    near = near or difflib.get_close_matches(word.lower(), known, n=3, cutoff=0.7)
    hint = f" Near it: {', '.join(dict.fromkeys(near))}." if near else ""
    return KeyError(f"{word!r} is not among the {len(known):,} words.{hint}")
