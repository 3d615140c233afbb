"""Exercises of 03_embedding_lookup."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextual.checks import Exercise

Floats = NDArray[Any]
TABLE = np.array(
    [[9.0, -3.0, 5.0], [1.0, 2.0, 4.0], [0.5, 7.0, -2.0], [3.0, -1.0, 0.0], [2, 6, 8]]
)

average = Exercise(
    name="embedding-average",
    asks="write average(table, token_ids, pad_id): the mean of the real tokens' rows.",
    confirms="the filler is left out of the sum and out of the count.",
    inputs=(
        {"table": TABLE, "token_ids": [3, 1, 3, 0, 0], "pad_id": 0},
        {"table": TABLE, "token_ids": [4, 2, 1], "pad_id": 0},
        {"table": TABLE, "token_ids": [0, 2, 4, 4, 4, 4], "pad_id": 4},
    ),
)


@average.right
def mean_of_real(table: Floats, token_ids: list[int], pad_id: int) -> Floats:
    return table[[i for i in token_ids if i != pad_id]].mean(axis=0)


@average.right
def weighted(table: Floats, token_ids: list[int], pad_id: int) -> Floats:
    real = (np.array(token_ids) != pad_id).astype(float)
    return real @ table[token_ids] / real.sum()


@average.mistake("you averaged over the filler too; its row has nothing to say.")
def filler_counts(table: Floats, token_ids: list[int], pad_id: int) -> Floats:
    return table[token_ids].mean(axis=0)


@average.mistake(
    "you left the filler out of the sum but divided by the full length; "
    "divide by the number of real tokens."
)
def divided_by_all(table: Floats, token_ids: list[int], pad_id: int) -> Floats:
    return mean_total(table, token_ids, pad_id) / len(token_ids)


def mean_total(table: Floats, token_ids: list[int], pad_id: int) -> Floats:
    return table[[i for i in token_ids if i != pad_id]].sum(axis=0)


@average.mistake("you gave the sum; divide it by the number of real tokens.")
def only_summed(table: Floats, token_ids: list[int], pad_id: int) -> Floats:
    return mean_total(table, token_ids, pad_id)


@average.mistake("you counted each token once; a token said twice counts twice.")
def each_once(table: Floats, token_ids: list[int], pad_id: int) -> Floats:
    return table[sorted(set(token_ids) - {pad_id})].mean(axis=0)


@average.mistake("you averaged along the wrong axis: one number a token, not a vector.")
def wrong_axis(table: Floats, token_ids: list[int], pad_id: int) -> Floats:
    return table[[i for i in token_ids if i != pad_id]].mean(axis=1)


@average.mistake(
    "you averaged the ids and fetched one row; an id is a hook, not a quantity."
)
def averaged_ids(table: Floats, token_ids: list[int], pad_id: int) -> Floats:
    return table[round(np.mean([i for i in token_ids if i != pad_id]))]


@average.mistake("you took 0 for the filler; here its id is the argument pad_id.")
def zero_is_filler(table: Floats, token_ids: list[int], pad_id: int) -> Floats:
    return table[[i for i in token_ids if i != 0]].mean(axis=0)


@average.mistake("you dropped the last token, whatever it was.")
def last_dropped(table: Floats, token_ids: list[int], pad_id: int) -> Floats:
    return table[token_ids[:-1]].mean(axis=0)


gradient = Exercise(
    name="embedding-gradient",
    asks="write gradient(token_ids, upstream, vocab_size): how far each row is moved.",
    confirms="only rows in use move, and a token said twice gets both its shares.",
    inputs=(
        {
            "token_ids": [2, 0, 2],
            "upstream": np.array([[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]]),
            "vocab_size": 4,
        },
        {
            "token_ids": [1, 1, 3, 1],
            "upstream": np.array([[1.0, 0.0], [2.0, 5.0], [4.0, -1.0], [8.0, 3.0]]),
            "vocab_size": 5,
        },
    ),
)


@gradient.right
def added_up(token_ids: list[int], upstream: Floats, vocab_size: int) -> Floats:
    rows = np.zeros((vocab_size, upstream.shape[1]))
    for i, share in zip(token_ids, upstream):
        rows[i] += share
    return rows


@gradient.right
def as_product(token_ids: list[int], upstream: Floats, vocab_size: int) -> Floats:
    return np.eye(vocab_size)[token_ids].T @ upstream


@gradient.mistake(
    "a token said twice got only its last share: rows[ids] = … and rows[ids] += … both "
    "write once. Add in a loop, or with np.add.at."
)
def last_share(token_ids: list[int], upstream: Floats, vocab_size: int) -> Floats:
    rows = np.zeros((vocab_size, upstream.shape[1]))
    rows[token_ids] += upstream
    return rows


@gradient.mistake("a token said twice got only its first share; add all of them.")
def first_share(token_ids: list[int], upstream: Floats, vocab_size: int) -> Floats:
    rows = np.zeros((vocab_size, upstream.shape[1]))
    rows[token_ids[::-1]] = upstream[::-1]
    return rows


@gradient.mistake("you averaged the shares of a token said twice; they add up.")
def averaged(token_ids: list[int], upstream: Floats, vocab_size: int) -> Floats:
    counts = np.bincount(token_ids, minlength=vocab_size)
    return added_up(token_ids, upstream, vocab_size) / np.maximum(counts, 1)[:, None]


@gradient.mistake("you moved every row; those of tokens that did not occur stay at 0.")
def all_rows(token_ids: list[int], upstream: Floats, vocab_size: int) -> Floats:
    return np.tile(upstream.sum(axis=0), (vocab_size, 1))


@gradient.mistake("your rows are one off: ids are counted from 0.")
def one_off(token_ids: list[int], upstream: Floats, vocab_size: int) -> Floats:
    return np.roll(added_up(token_ids, upstream, vocab_size), 1, axis=0)


@gradient.mistake("your table lies on its side: rows are tokens, columns are numbers.")
def on_its_side(token_ids: list[int], upstream: Floats, vocab_size: int) -> Floats:
    return added_up(token_ids, upstream, vocab_size).T


@gradient.mistake("you gave one row per place in the text, not one per token.")
def per_place(token_ids: list[int], upstream: Floats, vocab_size: int) -> Floats:
    return np.array(upstream)
