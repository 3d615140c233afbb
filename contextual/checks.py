"""Says in words what is wrong with a reader's answer to an exercise.

    check("tokens-count-pairs", my_function)

An exercise keeps the right answer and the wrong ones that people really give, all as
small functions. A reader's function is called on the exercise's few inputs; what comes
back is compared with the right outputs, then with those of every wrong version. The
exercises themselves are in `contextual/mistakes`, one module for each chapter.
"""

from __future__ import annotations

import copy
import difflib
import inspect
import io
import linecache
import textwrap
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from itertools import islice
from types import EllipsisType, NotImplementedType
from typing import Any

import numpy as np

from contextual.differences import difference, is_constant, odd_number, plain, show

Version = Callable[..., Any]
MOST_ITEMS = 100_000  # of an endless generator


@dataclass(frozen=True)
class Mistake:
    """A wrong version that people write, and the sentence that names it."""

    name: str
    says: str
    version: Version


@dataclass
class Exercise:
    """What is asked, on which inputs, and every version that the check knows.

    name: `<module>-<name>`; the exercise in the notebook has the label `ex-` + name.
    asks: what to do, as it follows "Not answered yet:". confirms: what a right answer
    has shown. inputs: for each call the arguments by name, in order; left out, the
    answer is a value and not a function. tolerance: relative, for float32's sake.
    """

    name: str
    asks: str
    confirms: str
    inputs: tuple[Mapping[str, Any], ...] = ()
    tolerance: float = 1e-4
    rights: list[Version] = field(default_factory=list)
    mistakes: list[Mistake] = field(default_factory=list)

    def right(self, version: Version) -> Version:
        """Mark a right version; the first is the reference, others are tested too."""
        self.rights.append(version)
        return version

    def mistake(self, says: str) -> Callable[[Version], Version]:
        """Mark a wrong version; `says` speaks to its author: "you counted …"."""

        def mark(version: Version) -> Version:
            self.mistakes.append(Mistake(version.__name__, says, version))
            return version

        return mark


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is right, what is said, and the mistake's name, if any."""

    right: bool
    says: str
    mistake: str = ""


@dataclass(frozen=True)
class Call:
    """What one call gave: a value, what was printed, arguments it changed, an error."""

    value: Any
    printed: str = ""
    changed: tuple[str, ...] = ()
    error: str = ""


def check(name: str, answer: Any) -> None:
    """Print a sentence or two on an answer: right, not answered, or what is wrong.

    name: of the exercise, as its starter cell has it. answer: a function or a value, as
    the exercise asks; lists, arrays and tensors are all good, and none is changed.
    Raises ValueError for an unknown name, with the nearest ones.
    """
    print(textwrap.fill(verdict(name, answer).says, 84, break_on_hyphens=False))


def verdict(name: str, answer: Any) -> Verdict:
    """As `check`, but returns the Verdict, for tests, and prints nothing."""
    return judge(find_exercise(name), answer)


def find_exercise(name: str) -> Exercise:
    """The exercise of that name; ValueError with the nearest names if there is none."""
    from contextual.mistakes import exercises

    known = exercises()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(str(name), known, n=3, cutoff=0.4)
    hint = f" Near it: {', '.join(near)}." if near else f" Known: {', '.join(known)}."
    raise ValueError(f"There is no exercise {name!r}.{hint}")


def judge(exercise: Exercise, answer: Any) -> Verdict:
    """The verdict on an answer: called, compared, and if wrong named or located."""
    refused = refuse(exercise, answer)
    if refused:
        return Verdict(False, refused)
    calls = [call(answer, case) for case in exercise.inputs] or [Call(answer)]
    for case, done in zip(exercise.inputs, calls):
        if done.error:
            return Verdict(False, f"{done.error} It was given {given(case)}.")
    returned_nothing = nothing(exercise, calls)
    if returned_nothing:
        return Verdict(False, returned_nothing)
    got = [plain(done.value, MOST_ITEMS) for done in calls]
    if matches(exercise, got, exercise.rights[0]):
        return Verdict(True, f"Right: {exercise.confirms}{remark(calls)}")
    for mistake in exercise.mistakes:
        if matches(exercise, got, mistake.version):
            says = f"Not yet: {mistake.says} {first_difference(exercise, got)}"
            return Verdict(False, says.strip(), mistake.name)
    says = unnamed(exercise, got)
    return Verdict(False, f"Not yet: {says[:1].lower()}{says[1:]}")


def refuse(exercise: Exercise, answer: Any) -> str:
    """Why an answer cannot be looked at at all; nothing if it can."""
    if answer is None or isinstance(answer, EllipsisType | NotImplementedType):
        hint = " (print gives None: hand over the value.)" if answer is None else ""
        return f"Not answered yet: {exercise.asks}{hint}"
    if exercise.inputs and not callable(answer):
        return (
            f"This exercise wants your function itself, without brackets, not "
            f"{show(answer)}: {exercise.asks}"
        )
    if not exercise.inputs and callable(answer):
        return f"This exercise wants a value, not a function: {exercise.asks}"
    if not exercise.inputs:
        return ""
    try:
        inspect.signature(answer).bind(*exercise.inputs[0].values())
    except TypeError:
        wanted = ", ".join(exercise.inputs[0])
        return f"Your function takes {inspect.signature(answer)}; give it ({wanted})."
    except ValueError:  # a built-in that does not tell its signature
        return ""
    return ""


def call(function: Version, case: Mapping[str, Any]) -> Call:
    """Call a function on copies of the inputs; keep what it prints or raises."""
    arguments = copy.deepcopy(dict(case))
    printed = io.StringIO()
    try:
        with redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NaN and infinity are named by value
            value = function(*arguments.values())
            if isinstance(value, Iterator):
                value = list(islice(value, MOST_ITEMS))
    except NotImplementedError:
        return Call(None)
    except (Exception, SystemExit) as error:
        return Call(None, error=raised(error, function))
    changed = tuple(
        name
        for name, was in case.items()
        if isinstance(plain(was), list | dict)
        and difference(plain(arguments[name]), plain(was), 0.0)
    )
    value = None if value is ... else value  # `return ...` of a starter cell
    return Call(value, printed.getvalue().strip(), changed)


def raised(error: BaseException, function: Version) -> str:
    """What a reader's function raised, and in which of its lines."""
    code = getattr(function, "__code__", None)
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if code and frame.filename == code.co_filename]
    what = f"{type(error).__name__}: {error}".rstrip(": ").rstrip(".")
    if not own:
        return f"Your function stops with {what}."
    line = linecache.getline(own[-1].filename, own[-1].lineno or 0).strip()
    where = f"line {own[-1].lineno}" + (f", `{line}`" if line else "")
    return f"Your function stops at {where}, with {what}."


def nothing(exercise: Exercise, calls: list[Call]) -> str:
    """What to say if a function returned None; nothing if it never did."""
    empty = [i for i, done in enumerate(calls) if done.value is None]
    if not empty:
        return ""
    first = calls[empty[0]]
    if first.printed:
        return (
            f"Your function prints {show(first.printed)} and returns nothing: a value "
            "that is only printed cannot be used. Put return where print stands."
        )
    if len(empty) == len(calls):
        return f"Not answered yet: {exercise.asks}"
    case = exercise.inputs[empty[0]]
    return f"Your function returns nothing (None) when given {given(case)}."


def matches(exercise: Exercise, got: list[Any], version: Version) -> bool:
    """Whether the outputs are those of a version, on every input."""
    wanted = outputs(exercise, version)
    return not any(difference(g, w, exercise.tolerance) for g, w in zip(got, wanted))


def outputs(exercise: Exercise, version: Version) -> list[Any]:
    """What a version gives for every input (or, for a value, the one value)."""
    cases = exercise.inputs or ({},)
    with np.errstate(all="ignore"):
        given = [version(*copy.deepcopy(dict(case)).values()) for case in cases]
    return [plain(value) for value in given]


def first_difference(exercise: Exercise, got: list[Any]) -> str:
    """Where an answer first differs from the right one: input, place, both values."""
    wanted = outputs(exercise, exercise.rights[0])
    for case, ours, right in zip(exercise.inputs or ({},), got, wanted):
        found = difference(ours, right, exercise.tolerance)
        if found:
            return f"With {given(case)}: {found}" if case else upper(found)
    return ""


def unnamed(exercise: Exercise, got: list[Any]) -> str:
    """What is wrong with an answer that is no known mistake."""
    wanted = outputs(exercise, exercise.rights[0])
    for case, ours, right in zip(exercise.inputs or ({},), got, wanted):
        odd = odd_number(ours)
        if odd and not odd_number(right):
            return f"{odd} It was given {given(case)}." if case else odd
        if ours in ([], "", b"", {}) and right != ours:
            return f"your answer is empty. {first_difference(exercise, got)}"
        if is_constant(ours) and not is_constant(right):
            return f"{is_constant(ours)} {first_difference(exercise, got)}"
    first, *others = got
    if others and not any(difference(first, other, 0.0) for other in others):
        same = f"your function gives {show(first)} whatever it is given."
        return f"{same} {first_difference(exercise, got)}"
    return first_difference(exercise, got)


def remark(calls: list[Call]) -> str:
    """A word about arguments that a right function changed in place."""
    names = Counter(name for done in calls for name in done.changed)
    if not names:
        return ""
    which = " and ".join(names)
    return f" But it changes {which}, and the caller's data with it: work on a copy."


def given(case: Mapping[str, Any]) -> str:
    """`word = 'aaa', n = 2`: the inputs of a call."""
    return ", ".join(f"{name} = {show(value)}" for name, value in case.items())


def upper(sentence: str) -> str:
    """The same sentence with a capital to begin with."""
    return sentence[:1].upper() + sentence[1:]
