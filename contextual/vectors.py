"""The only maths the book needs, taught in chapter 02."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contextual import inputs

Floats = NDArray[np.floating[Any]]


def dot(a: ArrayLike, b: ArrayLike) -> Floats:
    """Multiply matching numbers and add up. a, b: (…, C), result (…).

    Raises ValueError, naming both shapes, if they do not fit each other.
    """
    a, b = inputs.as_vectors(a, b)
    return np.vecdot(a, b)


def norm(a: ArrayLike) -> Floats:
    """The length of a vector, √(a·a). a: (…, C), result (…), never negative."""
    a = inputs.as_finite(a, "a")
    largest = np.abs(a).max(axis=-1, keepdims=True)  # (…, 1)
    largest = np.where(largest > 0, largest, 1)
    small = a / largest  # the square of 1e-30 or 1e30 does not fit a float32
    return largest[..., 0] * np.sqrt(np.vecdot(small, small))


def unit(a: ArrayLike) -> Floats:
    """The vector of length 1 that points the same way; zeros stay zeros. a: (…, C)."""
    a = inputs.as_finite(a, "a")
    largest = np.abs(a).max(axis=-1, keepdims=True)  # (…, 1)
    a = a / np.where(largest > 0, largest, 1)  # to ordinary size first, as in norm
    length = norm(a)[..., None]  # (…, 1)
    return a / np.where(length > 0, length, 1)


def cosine(a: ArrayLike, b: ArrayLike) -> Floats:
    """How far two vectors point the same way: 1 same, 0 at right angles, −1 opposite.

    a, b: (…, C), result (…). A vector of zeros points nowhere: its cosine is 0 here.
    """
    a, b = inputs.as_vectors(a, b)
    return np.clip(dot(unit(a), unit(b)), -1, 1)  # rounding may leave 1.0000001


def nearest(
    table: ArrayLike, query: ArrayLike, k: int, exclude: Collection[int] = ()
) -> list[tuple[int, float]]:
    """The k rows of a table that point most nearly the way of `query`, best first.

    table: (V, C), query: (C,). Returns (row, cosine) pairs; fewer than k if the table
    is shorter. Rows in `exclude` and rows of zeros are left out; exactly equal cosines
    come in the order of the rows.
    """
    table, query = inputs.as_finite(table, "table", 2), inputs.as_finite(query, "query")
    k = inputs.as_size(k, "k")
    inputs.check_query(table, query)
    cosines = cosine(table, query)
    allowed = np.any(table != 0, axis=-1)
    allowed[inputs.as_rows(exclude, len(table), "exclude")] = False
    rows = np.flatnonzero(allowed)
    best = rows[np.argsort(-cosines[rows], kind="stable")[:k]]
    return [(int(row), float(cosines[row])) for row in best]
