"""Positions: how a vector says where its word stands.

Taught in the chapter on positions. A pair of numbers is the hand of a clock: its
angle says where the word stands. Fast hands tell neighbours apart, slow hands tell
near from far.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contextual import inputs


def frequencies(d_head: int, base: float = 10000.0) -> NDArray[np.float64]:
    """How far each clock hand turns from one word to the next.

    Returns (d_head/2,) in radians per place: the first hand turns by 1 (57.3°), each
    later one by less, always by the same factor, the last by a little over 1/base.
    ValueError if d_head is odd or base is not above 1.
    Source: Vaswani et al. 2017, section 3.5; Su et al. 2021, section 3.2.2.
    """
    d_head = inputs.as_even_size(d_head, "d_head")
    base = inputs.as_base(base)
    pair = np.arange(d_head // 2)
    return base ** (-2 * pair / d_head)


def sinusoidal(seq_len: int, d_model: int) -> NDArray[np.float64]:
    """One vector per place, to be added to the word's own vector.

    Returns (T, C), values −1 to 1: sine and cosine of each hand's angle, side by
    side. Place 0 is 0, 1, 0, 1, …
    ValueError if d_model is odd or a size is below 1.
    Source: Vaswani et al. 2017, section 3.5.
    """
    seq_len = inputs.as_size(seq_len, "seq_len")
    d_model = inputs.as_even_size(d_model, "d_model")
    places = np.arange(seq_len)
    angles = places[:, None] * frequencies(d_model)  # (T, C/2)
    encoding = np.empty((seq_len, d_model))  # (T, C)
    encoding[:, 0::2] = np.sin(angles)
    encoding[:, 1::2] = np.cos(angles)
    return encoding


def rotate(x: ArrayLike, positions: ArrayLike, base: float = 10000.0) -> NDArray[Any]:
    """Turn each pair (2i, 2i+1) of a query or key by its place times its speed.

    x (…, T, d_head); positions (T,), or (B, 1, T) for x (B, H, T, d_head); one vector
    (d_head,) takes one number. Returns the shape and type of x (half becomes float32).
    ValueError if d_head is odd or positions do not fit x.
    Source: RoPE, Su et al. 2021, equation 34.
    """
    x = inputs.as_finite(x, "x")
    positions = inputs.as_positions(positions, x.shape)
    # in float64 even for a float32 x: at place 8000 a float32 angle is off by 3e-4
    angles = positions[..., None] * frequencies(x.shape[-1], base)  # (…, T, d_head/2)
    cos, sin = np.cos(angles), np.sin(angles)
    even, odd = x[..., 0::2], x[..., 1::2]  # (…, T, d_head/2)
    turned = np.empty_like(x)  # (…, T, d_head)
    turned[..., 0::2] = even * cos - odd * sin
    turned[..., 1::2] = even * sin + odd * cos
    return turned


def rotate_half_split(
    x: ArrayLike, positions: ArrayLike, base: float = 10000.0
) -> NDArray[Any]:
    """The same turn with other partners: (i, i + d_head/2), as many models store them.

    x (…, T, d_head); positions (T,), or (B, 1, T) for x (B, H, T, d_head).
    Returns the shape and type of x. A model uses one pairing for all its queries and
    keys; the other one gives wrong scores without a word.
    ValueError as for `rotate`. Source: the pairing of GPT-NeoX (Black et al. 2022).
    """
    x = inputs.as_finite(x, "x")
    positions = inputs.as_positions(positions, x.shape)
    angles = positions[..., None] * frequencies(x.shape[-1], base)  # (…, T, d_head/2)
    cos, sin = np.cos(angles), np.sin(angles)
    first, second = np.split(x, 2, axis=-1)  # (…, T, d_head/2) each
    turned = np.empty_like(x)  # (…, T, d_head)
    turned[..., : x.shape[-1] // 2] = first * cos - second * sin
    turned[..., x.shape[-1] // 2 :] = first * sin + second * cos
    return turned


def to_half_split(x: ArrayLike) -> NDArray[Any]:
    """Reorder the last axis so that partners stand d_head/2 apart, not side by side.

    x (…, d_head) in pairs (2i, 2i+1). Returns the same numbers: all first partners,
    then all second ones. Then rotate_half_split(to_half_split(x), positions) equals
    to_half_split(rotate(x, positions)).
    ValueError if d_head is odd.
    """
    x = inputs.as_array(x, "x")
    inputs.as_even_size(x.shape[-1], "d_head")
    return np.concatenate([x[..., 0::2], x[..., 1::2]], axis=-1)
