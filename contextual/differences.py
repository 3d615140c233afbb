"""How a value differs from another, in words; used by `contextual/checks.py`.

Arrays, tensors, tuples and lists all become nested lists first, so that only the
numbers, texts and shapes count.
"""

from __future__ import annotations

import math
import reprlib
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

Number = int | float
SHORT = 6  # items of a list that are shown


def plain(value: Any, most: int = 100_000) -> Any:
    """A copy made of lists, dictionaries, texts and Python's own numbers.

    value: anything; a tensor, array or tuple becomes (nested) lists, a Counter loses
    its zeros, an iterator is read, up to `most` items. What is none of these stays.
    """
    if hasattr(value, "detach"):  # a torch tensor
        value = value.detach().cpu()
    if hasattr(value, "tolist"):  # arrays, tensors, numpy's numbers
        return value.tolist()
    if isinstance(value, Counter):
        return {key: n for key, n in value.items() if n}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Iterator | range):
        return [plain(item) for item in islice(value, most)]
    return value


def difference(got: Any, want: Any, tolerance: float) -> str:
    """The first difference in words, or nothing if the two are the same.

    got, want: made by `plain`. tolerance: relative to the largest number of `want`;
    whole numbers must be equal. NaN equals NaN.
    """
    if kind(got) != kind(want):
        wanted = f"{kind(want)}, {show(want)}"
        return f"you give {kind(got)}, {show(got)}; expected {wanted}."
    if isinstance(want, list) and np.shape(numeric(want)) and numeric(got) is not None:
        ours, right = np.shape(numeric(got)), np.shape(numeric(want))
        if ours != right and len(ours) + len(right) > 2:
            return f"your answer has shape {ours}; expected {right}."
    scale = tolerance * largest(want)
    where = first_place(got, want, scale)
    if where is None:
        return ""
    ours, right = item(got, where), item(want, where)
    if len(show(got)) <= 60 and len(show(want)) <= 60:
        return f"you get {show(got)}, right is {show(want)}."
    return f"at {place(where)} you get {show(ours)}, right is {show(right)}."


def first_place(got: Any, want: Any, scale: float) -> tuple[Any, ...] | None:
    """The path to the first item that differs; () is the whole value, None nowhere."""
    if isinstance(want, list) and isinstance(got, list):
        for i, (ours, right) in enumerate(zip(got, want)):
            below = first_place(ours, right, scale)
            if below is not None:
                return (i, *below)
        return None if len(got) == len(want) else (min(len(got), len(want)),)
    if isinstance(want, dict) and isinstance(got, dict):
        for key in [*want, *got]:
            if key not in got or key not in want:
                return (key,)
            below = first_place(got[key], want[key], scale)
            if below is not None:
                return (key, *below)
        return None
    return None if same_item(got, want, scale) else ()


def same_item(got: Any, want: Any, scale: float) -> bool:
    """Two items that are no lists: numbers within `scale`, all else equal."""
    if kind(got) != kind(want):
        return False
    if isinstance(want, Number) and isinstance(got, Number):
        if math.isnan(want) or math.isnan(got):
            return math.isnan(want) and math.isnan(got)
        exact = isinstance(want, int) or math.isinf(want) or math.isinf(got)
        return got == want if exact else abs(got - want) <= scale
    return bool(got == want)


def kind(value: Any) -> str:
    """What sort of thing a value is, in the reader's words."""
    if isinstance(value, Number):  # True and False count as 1 and 0
        return "a number"
    names: dict[type, str] = {str: "a text", bytes: "bytes", list: "a list"}
    names |= {dict: "a dictionary", set: "a set, which has no order"}
    names |= {type(None): "nothing (None)"}
    return names.get(type(value), f"a {type(value).__name__}")


def numeric(value: Any) -> Any:
    """A nested list as an array of numbers; None if it is none."""
    try:
        array = np.array(value)
    except ValueError:  # rows of different lengths
        return None
    return array if array.dtype.kind in "bif" else None


def largest(value: Any) -> float:
    """The largest finite size of a number in a value, 1 where there is none."""
    array = numeric(value)
    if array is None or array.size == 0:
        return 1.0
    sizes = np.abs(array.astype(float))
    return float(np.max(sizes, where=np.isfinite(sizes), initial=0.0)) or 1.0


def odd_number(value: Any) -> str:
    """A sentence about the first NaN or infinity, or nothing."""
    array = numeric(value)
    if array is None or np.isfinite(array).all():
        return ""
    where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
    name = "NaN, as 0/0 gives" if np.isnan(array[where]) else "infinite, as 1/0 gives"
    return f"your answer at {place(where)} is {name}." if where else f"it is {name}."


def is_constant(value: Any) -> str:
    """A sentence about an answer of at least three equal numbers, or nothing."""
    array = numeric(value)
    if array is None or array.size < 3 or np.ptp(array.astype(float)) != 0:
        return ""
    return f"all {array.size} numbers of your answer are {show(array.flat[0].item())}."


def item(value: Any, where: tuple[Any, ...]) -> Any:
    """What stands at a path; a reprlib-proof word if the value ends before it."""
    for key in where:
        try:
            value = value[key]
        except (IndexError, KeyError, TypeError):
            return Missing()
    return value


class Missing:
    """Stands where a list or dictionary has no more: shown as `nothing`."""

    def __repr__(self) -> str:
        return "nothing"


def place(where: tuple[Any, ...]) -> str:
    """`[1, 2]`: indices as Python writes them, or the key of a dictionary."""
    return f"[{', '.join(repr(key) for key in where)}]" if where else "the whole"


def show(value: Any) -> str:
    """A value in one short line: four digits, long lists cut or as shapes."""
    value = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    array = numeric(value) if isinstance(value, list) else None
    if array is not None and (array.ndim > 2 or array.size > 12):
        return f"an array of shape {array.shape}"
    return Short().repr(value)


class Short(reprlib.Repr):
    """Cuts long lists and texts, and rounds numbers to four digits."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlist = self.maxtuple = self.maxdict = SHORT
        self.maxstring = self.maxother = 60

    def repr_dict(self, x: dict[Any, Any], level: int) -> str:
        items = [f"{self.repr(k)}: {self.repr(v)}" for k, v in islice(x.items(), SHORT)]
        return "{" + ", ".join(items + ["..."] * (len(x) > SHORT)) + "}"

    def repr_float(self, x: float, level: int) -> str:
        text = f"{x:.4g}"
        return text if any(c in text for c in ".en") else text + ".0"
