"""Exercises of 06_position_encoding."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextual.checks import Exercise

Floats = NDArray[Any]

apart = Exercise(
    name="position-apart",
    asks="write apart(distance, hand, d_head, base): degrees, −180 to 180.",
    confirms="a hand turns by base^(−2·hand/d_head) radians a word, and full turns go.",
    inputs=(
        {"distance": 3, "hand": 0, "d_head": 64, "base": 10_000.0},
        {"distance": 44, "hand": 0, "d_head": 64, "base": 10_000.0},
        {"distance": 4, "hand": 0, "d_head": 64, "base": 10_000.0},
        {"distance": 710, "hand": 8, "d_head": 64, "base": 10_000.0},
        {"distance": 5, "hand": 2, "d_head": 8, "base": 100.0},
    ),
)


def turned(distance: float, hand: float, d_head: int, base: float) -> float:
    return float(np.degrees(distance * base ** (-2 * hand / d_head)))


def wrapped(degrees: float) -> float:
    return 180 - (180 - degrees) % 360


@apart.right
def by_remainder(distance: int, hand: int, d_head: int, base: float) -> float:
    return wrapped(turned(distance, hand, d_head, base))


@apart.right
def by_arctangent(distance: int, hand: int, d_head: int, base: float) -> float:
    angle = np.radians(turned(distance, hand, d_head, base))
    return float(np.degrees(np.arctan2(np.sin(angle), np.cos(angle))))


@apart.mistake("you gave radians; multiply by 180/π, or use np.degrees.")
def radians(distance: int, hand: int, d_head: int, base: float) -> float:
    return float(np.radians(by_remainder(distance, hand, d_head, base)))


@apart.mistake("you left the full turns in; a hand that has gone round is back.")
def unwrapped(distance: int, hand: int, d_head: int, base: float) -> float:
    return turned(distance, hand, d_head, base)


@apart.mistake("you gave 0 to 360; past half a turn the other way round is shorter.")
def full_circle(distance: int, hand: int, d_head: int, base: float) -> float:
    return turned(distance, hand, d_head, base) % 360


@apart.mistake("you lost the sign: past half a turn the angle is negative.")
def without_sign(distance: int, hand: int, d_head: int, base: float) -> float:
    return abs(by_remainder(distance, hand, d_head, base))


@apart.mistake("your hands slow down too late: the exponent is −2·hand/d_head.")
def half_exponent(distance: int, hand: int, d_head: int, base: float) -> float:
    return wrapped(turned(distance, hand / 2, d_head, base))


@apart.mistake("you counted the hands from 1; the fastest has number 0.")
def from_one(distance: int, hand: int, d_head: int, base: float) -> float:
    return wrapped(turned(distance, hand + 1, d_head, base))


@apart.mistake("you used 10,000 whatever `base` says.")
def fixed_base(distance: int, hand: int, d_head: int, base: float) -> float:
    return wrapped(turned(distance, hand, d_head, 10_000.0))


turn = Exercise(
    name="position-turn",
    asks="write turn(x, place, base): x with its pairs (0, 1), (2, 3), … turned.",
    confirms="each pair turns at its own speed, against the clock, its length kept.",
    inputs=(
        {"x": np.array([1.0, 0.0, 1.0, 0.0]), "place": 1, "base": 100.0},
        {"x": np.array([1.0, 2.0, 3.0, -4.0, 0.5, 6.0]), "place": 5, "base": 1000.0},
        {"x": np.array([2.0, -1.0, 0.0, 3.0]), "place": 0, "base": 100.0},
    ),
)


def angles(x: Floats, place: float, base: float) -> Floats:
    return place * base ** (-np.arange(0, len(x), 2) / len(x))


def spun(x: Floats, angle: Floats) -> Floats:
    out, cos, sin = np.empty(len(x)), np.cos(angle), np.sin(angle)
    out[0::2] = x[0::2] * cos - x[1::2] * sin
    out[1::2] = x[0::2] * sin + x[1::2] * cos
    return out


@turn.right
def pair_by_pair(x: Floats, place: int, base: float) -> Floats:
    return spun(x, angles(x, place, base))


@turn.right
def as_complex(x: Floats, place: int, base: float) -> Floats:
    hands = (x[0::2] + 1j * x[1::2]) * np.exp(1j * angles(x, place, base))
    return np.stack([hands.real, hands.imag], axis=-1).ravel()


@turn.mistake(
    "you paired number i with number i + d/2; here partners are neighbours. Both are "
    "in use, and a model understands only its own."
)
def half_split(x: Floats, place: int, base: float) -> Floats:
    a, b = np.split(np.array(x), 2)
    angle = angles(x, place, base)
    cos, sin = np.cos(angle), np.sin(angle)
    return np.concatenate([a * cos - b * sin, a * sin + b * cos])


@turn.mistake("your hands turn with the clock; angles grow against it: cos a, sin a.")
def with_the_clock(x: Floats, place: int, base: float) -> Floats:
    return spun(x, -angles(x, place, base))


@turn.mistake("you read the angle as degrees; np.cos and np.sin want radians.")
def as_degrees(x: Floats, place: int, base: float) -> Floats:
    return spun(x, np.radians(angles(x, place, base)))


@turn.mistake("you turned every pair by the same angle; each has its own speed.")
def one_speed(x: Floats, place: int, base: float) -> Floats:
    return spun(x, np.full(len(x) // 2, float(place)))


@turn.mistake("you counted places from 1: at place 0 nothing is turned.")
def place_from_one(x: Floats, place: int, base: float) -> Floats:
    return spun(x, angles(x, place + 1, base))


@turn.mistake(
    "you overwrote the first number of a pair before the second was computed from it; "
    "keep the old pair."
)
def overwritten(x: Floats, place: int, base: float) -> Floats:
    angle, out = angles(x, place, base), np.array(x, dtype=float)
    out[0::2] = out[0::2] * np.cos(angle) - out[1::2] * np.sin(angle)
    out[1::2] = out[0::2] * np.sin(angle) + out[1::2] * np.cos(angle)
    return out


@turn.mistake("your speeds fall too slowly: pair i has speed base^(−2i/d).")
def slow_fall(x: Floats, place: int, base: float) -> Floats:
    return spun(x, place * base ** (-np.arange(len(x) // 2) / len(x)))


@turn.mistake("you added the place's sines and cosines; RoPE turns, it adds nothing.")
def added(x: Floats, place: int, base: float) -> Floats:
    angle, out = angles(x, place, base), np.array(x, dtype=float)
    out[0::2] += np.sin(angle)
    out[1::2] += np.cos(angle)
    return out
