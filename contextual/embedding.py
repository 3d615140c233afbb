"""From an id to a vector: the table, taught in chapter 03."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contextual import inputs

Floats = NDArray[np.floating[Any]]


def one_hot(token_ids: ArrayLike, vocab_size: int) -> Floats:
    """A row of zeros for each id, with a single 1 at the place of the id.

    token_ids: (…, T) whole numbers from 0 to vocab_size − 1. Returns (…, T, V).
    Raises ValueError for any other id, negative ones too.
    """
    ids = inputs.as_token_ids(token_ids, vocab_size)
    rows = np.zeros((*ids.shape, vocab_size))
    np.put_along_axis(rows, ids[..., None], 1.0, axis=-1)
    return rows


def lookup(table: ArrayLike, token_ids: ArrayLike) -> Floats:
    """The rows of the table that the ids name: the absolute vectors of the tokens.

    table: (V, C), token_ids: (…, T). Returns (…, T, C), a copy.
    Raises ValueError for an id that is not a row, negative ones too.
    """
    table = inputs.as_array(table, "table", 2)
    if table.ndim != 2:
        raise ValueError(f"table must be (V, C), one row a token, not {table.shape}.")
    return table[inputs.as_token_ids(token_ids, len(table))]
