"""Exercises of 09_contextual_embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextual.checks import Exercise

Floats = NDArray[Any]
STATES = np.random.default_rng(5).normal(size=(5, 4, 3)).round(2)
CROWD = np.random.default_rng(6).normal(size=(7, 4)).round(2) + np.array([3, 0, -2, 1])

update = Exercise(
    name="model-update",
    asks="write update(states, layer, place): what that layer added to that word.",
    confirms="entry 0 is the table; layer n leads from entry n − 1 to entry n.",
    inputs=(
        {"states": STATES, "layer": 1, "place": 2},
        {"states": STATES, "layer": 3, "place": 1},
    ),
)


@update.right
def after_minus_before(states: Floats, layer: int, place: int) -> Floats:
    return states[layer, place] - states[layer - 1, place]


@update.right
def by_diff(states: Floats, layer: int, place: int) -> Floats:
    return np.diff(np.asarray(states), axis=0)[layer - 1, place]


@update.mistake(
    "you took the layer after it: entry 0 is the table, so layer n ends at entry n."
)
def one_late(states: Floats, layer: int, place: int) -> Floats:
    return states[layer + 1, place] - states[layer, place]


@update.mistake("you gave the stream itself; the update is what was added to it.")
def stream(states: Floats, layer: int, place: int) -> Floats:
    return states[layer, place]


@update.mistake("you subtracted the wrong way round: before − after.")
def reversed_sign(states: Floats, layer: int, place: int) -> Floats:
    return states[layer - 1, place] - states[layer, place]


@update.mistake("you gave all that was added since the table; this layer's part only.")
def since_the_table(states: Floats, layer: int, place: int) -> Floats:
    return states[layer, place] - states[0, place]


@update.mistake("you looked at the first word; the word asked for stands at `place`.")
def first_word(states: Floats, layer: int, place: int) -> Floats:
    return states[layer, 0] - states[layer - 1, 0]


@update.mistake("you looked at the last word; the word asked for stands at `place`.")
def last_word(states: Floats, layer: int, place: int) -> Floats:
    return states[layer, -1] - states[layer - 1, -1]


@update.mistake("you took layer and place for each other: states are (layer, word, C).")
def axes_swapped(states: Floats, layer: int, place: int) -> Floats:
    return states[place, layer] - states[place - 1, layer]


@update.mistake("you averaged over the words; the update of one word is asked for.")
def mean_of_words(states: Floats, layer: int, place: int) -> Floats:
    return (states[layer] - states[layer - 1]).mean(axis=0)


centred = Exercise(
    name="model-centred",
    asks="write centred(one, two, strangers): their cosine without what all share.",
    confirms="the strangers' mean goes from both vectors before the cosine is taken.",
    inputs=(
        {"one": CROWD[0], "two": CROWD[1], "strangers": CROWD[2:]},
        {"one": CROWD[5], "two": CROWD[3], "strangers": CROWD[:3]},
    ),
)


def cosine(a: Floats, b: Floats) -> float:
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


@centred.right
def mean_taken_away(one: Floats, two: Floats, strangers: Floats) -> float:
    mean = np.asarray(strangers).mean(axis=0)
    return cosine(one - mean, two - mean)


@centred.right
def by_lengths(one: Floats, two: Floats, strangers: Floats) -> float:
    a, b = (v - sum(strangers) / len(strangers) for v in (one, two))
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    return float(1 - ((a - b) ** 2).sum() / 2)


@centred.mistake("you gave the raw cosine: what all words share is still in it.")
def raw(one: Floats, two: Floats, strangers: Floats) -> float:
    return cosine(one, two)


@centred.mistake(
    "you put the two words into the mean that is taken from them; a tested word must "
    "stay out of the crowd it is compared with."
)
def tested_left_in(one: Floats, two: Floats, strangers: Floats) -> float:
    return mean_taken_away(one, two, np.vstack([strangers, one, two]))


@centred.mistake("you took the mean away from one of the two only.")
def one_only(one: Floats, two: Floats, strangers: Floats) -> float:
    return cosine(one - strangers.mean(axis=0), two)


@centred.mistake(
    "you took from each vector the mean of its own numbers; the mean of the strangers, "
    "number by number, is what all words share."
)
def own_mean(one: Floats, two: Floats, strangers: Floats) -> float:
    return cosine(one - one.mean(), two - two.mean())


@centred.mistake("you gave the dot product; divide by both lengths.")
def dot_product(one: Floats, two: Floats, strangers: Floats) -> float:
    mean = strangers.mean(axis=0)
    return float((one - mean) @ (two - mean))


@centred.mistake("you gave the distance between the two; a cosine compares directions.")
def distance(one: Floats, two: Floats, strangers: Floats) -> float:
    return float(np.linalg.norm(one - two))


@centred.mistake("you took one number, the mean of all, from every place.")
def mean_of_all(one: Floats, two: Floats, strangers: Floats) -> float:
    return cosine(one - strangers.mean(), two - strangers.mean())
