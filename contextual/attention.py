"""Attention: how a word reads its neighbours.

Taught in the chapter on attention: scores, weights, mixed values; then several heads.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contextual import inputs


def softmax(scores: ArrayLike, axis: int = -1) -> NDArray[Any]:
    """Turn scores into weights: positive, and 1 in sum along `axis`.

    scores: any shape, −inf allowed (weight exactly 0). Returns the same shape.
    A row of nothing but −inf has nothing to share out: its weights are all 0.
    ValueError for NaN or +inf, and for an axis that scores do not have.
    """
    scores = inputs.as_array(scores, "scores")
    axis = inputs.as_axis(axis, scores.shape, "scores")
    largest = scores.max(axis=axis, keepdims=True)
    if not (largest < np.inf).all():
        raise ValueError("scores hold NaN or +inf; only finite numbers and −inf fit.")
    largest = np.where(largest == -np.inf, 0.0, largest)  # −inf − (−inf) is NaN
    with np.errstate(over="ignore"):  # a gap too wide for a float is −inf: weight 0
        weights = np.exp(scores - largest)  # at most 1: exp cannot overflow
    total = weights.sum(axis=axis, keepdims=True)
    return weights / np.where(total == 0.0, 1.0, total)


def attention(
    q: ArrayLike, k: ArrayLike, v: ArrayLike, mask: ArrayLike | None = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Let every word that reads mix the values of the words it may look at.

    q (…, T, d_head), k (…, S, d_head), v (…, S, d_v); leading axes broadcast.
    mask: True = may look, broadcast to (…, T, S). A row that may look nowhere gets 0s.
    Returns the output (…, T, d_v) and the weights (…, T, S), each row 1 in sum.
    ValueError names both sizes where two arrays do not fit.
    Source: Vaswani et al. 2017, equation 1.
    """
    q, k, v = inputs.as_queries_keys_values(q, k, v)
    scores = q @ np.swapaxes(k, -1, -2)  # (…, T, S)
    scores = scores / math.sqrt(q.shape[-1])
    if mask is not None:
        mask = inputs.as_attention_mask(mask, scores.shape)
        scores = np.where(mask, scores, -np.inf)  # before softmax: its weight is 0
    weights = softmax(scores)
    return weights @ v, weights  # (…, T, d_v), (…, T, S)


def split_heads(x: ArrayLike, n_heads: int) -> NDArray[Any]:
    """Give each head its own share of every word's numbers.

    x (…, T, C). Returns (…, H, T, d_head) with d_head = C / H: head 0 has the first
    d_head numbers of each word, head 1 the next.
    ValueError if n_heads does not divide C.
    """
    x = inputs.as_array(x, "x", min_ndim=2)
    *leading, d_model = x.shape
    n_heads = inputs.as_divisor(n_heads, "n_heads", d_model, "d_model")
    x = x.reshape(*leading, n_heads, d_model // n_heads)  # (…, T, H, d_head)
    return np.swapaxes(x, -3, -2)  # (…, H, T, d_head)


def merge_heads(x: ArrayLike) -> NDArray[Any]:
    """Put the heads' shares side by side again: `split_heads` undone.

    x (…, H, T, d_head). Returns (…, T, C) with C = H · d_head.
    ValueError if x has fewer than three axes.
    """
    x = inputs.as_array(x, "x", min_ndim=3)
    x = np.swapaxes(x, -3, -2)  # (…, T, H, d_head)
    return x.reshape(*x.shape[:-2], -1)  # (…, T, C)


def share_heads(kv: ArrayLike, n_heads: int) -> NDArray[Any]:
    """Let several query heads read the same keys or values (grouped-query attention).

    kv (…, n_kv_heads, T, d_head). Returns (…, n_heads, T, d_head): neighbours share,
    so 6 query heads on 2 read 0, 0, 0, 1, 1, 1.
    ValueError if n_kv_heads does not divide n_heads.
    Source: Ainslie et al. 2023, section 2.2.
    """
    kv = inputs.as_array(kv, "kv", min_ndim=3)
    n_heads = inputs.as_size(n_heads, "n_heads")
    n_kv_heads = inputs.as_divisor(kv.shape[-3], "n_kv_heads", n_heads, "n_heads")
    return np.repeat(kv, n_heads // n_kv_heads, axis=-3)  # (…, n_heads, T, d_head)


def multi_head_attention(
    x: ArrayLike,
    w_q: ArrayLike,
    w_k: ArrayLike,
    w_v: ArrayLike,
    w_o: ArrayLike,
    n_heads: int,
    n_kv_heads: int | None = None,
    mask: ArrayLike | None = None,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Every head looks for itself; then what they found is put together and mixed.

    x (…, T, C); w_q, w_o (C, C); w_k, w_v (C, n_kv_heads · d_head), stored (in, out).
    mask: True = may look; (T, T) for all, (…, T, T) per text, (…, H, T, T) per head.
    Returns the output (…, T, C) and the weights (…, H, T, T). Sizes that do not fit:
    ValueError. Source: Vaswani et al. 2017, section 3.2.2; Ainslie et al. 2023.
    """
    x, w_q, w_k, w_v, w_o = inputs.as_layer(x, w_q, w_k, w_v, w_o, n_heads, n_kv_heads)
    q = split_heads(x @ w_q, n_heads)  # (…, H, T, d_head)
    k = split_heads(x @ w_k, n_kv_heads or n_heads)  # (…, n_kv_heads, T, d_head)
    v = split_heads(x @ w_v, n_kv_heads or n_heads)
    k, v = share_heads(k, n_heads), share_heads(v, n_heads)  # (…, H, T, d_head)
    mask = inputs.as_head_mask(mask, x.shape, n_heads)
    output, weights = attention(q, k, v, mask)
    return merge_heads(output) @ w_o, weights  # (…, T, C), (…, H, T, T)
