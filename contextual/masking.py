"""Masks: what a word may not see. True = may look.

Taught in the chapter on masking. Rows are the words that read, columns the words that
are read; two masks are joined by `&`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contextual import inputs


def causal_mask(seq_len: int) -> NDArray[np.bool_]:
    """A word may look at itself and at what came before it, never at the future.

    Returns (T, T): row i is True up to column i. The newest T of S words, with the keys
    of the earlier ones kept, use the last rows: causal_mask(S)[-T:].
    ValueError if seq_len is below 1.
    """
    seq_len = inputs.as_size(seq_len, "seq_len")
    place = np.arange(seq_len)
    return place[:, None] >= place  # (T, T)


def padding_mask(lengths: ArrayLike, seq_len: int) -> NDArray[np.bool_]:
    """Nobody may look at the filler that follows a short text.

    lengths (B,): the real tokens of each text, 0 to seq_len.
    Returns (B, 1, T), so that causal_mask(T) & padding_mask(lengths, T) is (B, T, T).
    The middle axis is there because (B, T) would pass for (T, T) when B equals T.
    ValueError names a length that does not fit seq_len.
    """
    lengths = inputs.as_lengths(lengths, seq_len)
    place = np.arange(seq_len)
    real = place < lengths[:, None]  # (B, T)
    return real[:, None, :]  # (B, 1, T)


def left_padding_mask(lengths: ArrayLike, seq_len: int) -> NDArray[np.bool_]:
    """Nobody may look at the filler that stands before a short text.

    On the left, so that the newest words of all texts stand in one column.
    lengths (B,): the real tokens of each text, 0 to seq_len.
    Returns (B, 1, T), to be joined to a causal mask as in `padding_mask`.
    ValueError names a length that does not fit seq_len.
    """
    lengths = inputs.as_lengths(lengths, seq_len)
    place = np.arange(seq_len)
    real = place >= seq_len - lengths[:, None]  # (B, T)
    return real[:, None, :]  # (B, 1, T)


def positions_after_padding(lengths: ArrayLike, seq_len: int) -> NDArray[np.int64]:
    """Count places from the first real token, so that filler on the left moves nobody.

    lengths (B,): the real tokens of each text, 0 to seq_len.
    Returns (B, T): 0, 1, 2, … from the first real token on; filler gets 0. For heads
    (B, H, T, d_head) give `rotate` the axis it lacks: positions[:, None, :].
    ValueError names a length that does not fit seq_len.
    """
    lengths = inputs.as_lengths(lengths, seq_len)
    filler = seq_len - lengths  # (B,)
    places = np.arange(seq_len) - filler[:, None]  # (B, T)
    return np.maximum(places, 0)
