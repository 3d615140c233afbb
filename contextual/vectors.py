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
    a = inputs.as_array(a, "a")
    return np.linalg.norm(a, axis=-1)


def cosine(a: ArrayLike, b: ArrayLike) -> Floats:
    """How far two vectors point the same way: 1 same, 0 at right angles, −1 opposite.

    a, b: (…, C), result (…). A vector of zeros points nowhere: its cosine is 0 here.
    """
    a, b = inputs.as_vectors(a, b)
    lengths = norm(a) * norm(b)
    products = dot(a, b)
    shared = np.divide(
        products, lengths, out=np.zeros_like(products), where=lengths > 0
    )
    return np.clip(shared, -1, 1)  # rounding may leave 1.0000001


def nearest(
    table: ArrayLike, query: ArrayLike, k: int, exclude: Collection[int] = ()
) -> list[tuple[int, float]]:
    """The k rows of a table that point most nearly the way of `query`, best first.

    table: (V, C), query: (C,). Returns (row, cosine) pairs; fewer than k if the table
    is shorter. Rows in `exclude` and rows of zeros are left out; equals by row number.
    """
    table, query = inputs.as_array(table, "table", 2), inputs.as_array(query, "query")
    k = inputs.as_size(k, "k")
    inputs.check_query(table, query)
    cosines = cosine(table, query)
    allowed = norm(table) > 0
    if len(exclude):
        allowed[inputs.as_token_ids(list(exclude), len(table))] = False
    rows = np.flatnonzero(allowed)
    best = rows[np.argsort(-cosines[rows], kind="stable")[:k]]
    return [(int(row), float(cosines[row])) for row in best]
