"""What all widgets share in Python: joining scripts, checked traits, sentence, picture.

A widget is two files. `<name>.js` computes and draws; `<name>.py` holds the traits and
the same `compute` and `describe` in Python, which the tests compare. Not taught.
"""

from __future__ import annotations

import functools
import io
import math
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import anywidget
import numpy as np
import traitlets

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE = Path(__file__).parent
IMPORT = re.compile(r'^import \{([^}]*)\} from "\./kit\.js";\n', re.M)
EXPORT = re.compile(r"^export (?=(?:async |const|let|function|class))", re.M)
NAMES = re.compile(r"^export (?:async )?(?:const|let|function|class) (\w+)", re.M)
COMMENT = re.compile(r"^ *(?:/\*.*?\*/|//[^\n]*)\n", re.M | re.S)

# ---- one text for Jupyter, classic scripts for the page ------------------------------


@functools.cache
def read_script(name: str) -> str:
    """The text of a .js or .css file of this folder, comments left out."""
    return COMMENT.sub("", (HERE / name).read_text(encoding="utf-8"))


def module(name: str) -> str:
    """Kit and widget as the one ES module that anywidget wants."""
    kit, own = read_script("kit.js"), read_script(f"{name}.js")
    return EXPORT.sub("", kit) + EXPORT.sub("", IMPORT.sub("", own))


def classic_kit() -> str:
    """The kit as a classic script: `window.ftc` holds what it exports."""
    kit = read_script("kit.js")
    names = ",".join(NAMES.findall(kit))
    return (
        f"window.ftc=(()=>{{{EXPORT.sub('', kit)}return {{widgets:{{}},{names}}}}})();"
    )


def classic(name: str) -> str:
    """A widget as a classic script that adds itself to `window.ftc.widgets`."""
    own = read_script(f"{name}.js")
    taken = ",".join(IMPORT.findall(own))
    body = EXPORT.sub("", IMPORT.sub("", own)).replace("export default", "const w =", 1)
    return (
        f"(()=>{{const {{{taken}}}=window.ftc;{body}window.ftc.widgets.{name}=w;}})();"
    )


# ---- numbers as the kit writes them --------------------------------------------------


def fmt(x: float, digits: int = 2) -> str:
    """x with so many digits, ties away from zero, a real minus sign, no −0."""
    step = Decimal(1).scaleb(-digits)
    size = abs(Decimal(float(x))).quantize(step, rounding=ROUND_HALF_UP)
    return ("−" if x < 0 and size else "") + str(size)


def dec(x: float, digits: int = 3) -> str:
    """.833, 1.000, −.050: no digit before the point that says nothing."""
    return re.sub(r"^(−?)0\.", r"\1.", fmt(x, digits))


def whole(x: float) -> str:
    """A whole number with commas: 10,000."""
    return re.sub(r"\B(?=(\d{3})+$)", ",", fmt(x, 0))


def pct(x: float) -> str:
    """A share of 1 in whole per cents; below half a per cent it says so."""
    if x < 0.005:
        return "0 %" if x == 0 else "<1 %"
    return f"{math.floor(100 * x + 0.5 + 1e-9)} %"


def deg(x: float) -> str:
    """Degrees with one digit."""
    return f"{fmt(x, 1)}°"


def wrap(x: float) -> float:
    """Degrees wrapped to (−180, 180]."""
    rest = math.fmod(180 - x, 360)
    return 180 - (rest + 360 if rest < 0 else rest)


# ---- traits that say what they take --------------------------------------------------


class Checked(traitlets.TraitType[Any, Any]):
    """A trait that a control changes; another value is a ValueError that names it."""

    def __init__(self, default: Any) -> None:
        super().__init__(default)
        self.tag(sync=True)

    def refuse(self, wanted: str, value: Any) -> ValueError:
        """`start must be a whole number from 0 to 1023, not 2000.`"""
        return ValueError(f"{self.name} must be {wanted}, not {value!r}.")

    def draw(self, rng: np.random.Generator) -> Any:
        """A random value that is taken, for the tests."""
        raise NotImplementedError


class Whole(Checked):
    """A whole number from low to high, perhaps in steps; else ValueError."""

    def __init__(self, default: int, low: int, high: int, step: int = 1) -> None:
        self.low, self.high, self.step = low, high, step
        super().__init__(default)

    def validate(self, obj: Any, value: Any) -> int:
        """The number as an int."""
        kind = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        inside = kind and self.low <= value <= self.high
        if not inside or (value - self.low) % self.step:
            steps = "" if self.step == 1 else f" in steps of {self.step}"
            wanted = f"a whole number from {self.low} to {self.high}{steps}"
            raise self.refuse(wanted, value)
        return int(value)

    def draw(self, rng: np.random.Generator) -> int:
        """Every value is as likely."""
        return int(rng.choice(np.arange(self.low, self.high + 1, self.step)))


class Number(Checked):
    """A finite number from low to high (above low if `above`); else ValueError."""

    def __init__(
        self, default: float, low: float, high: float, above: bool = False
    ) -> None:
        self.low, self.high, self.above = low, high, above
        super().__init__(default)

    def validate(self, obj: Any, value: Any) -> float:
        """The number as a float; a whole one as an int, so that both sides agree."""
        kind = isinstance(value, (int, float, np.number)) and not isinstance(
            value, bool
        )
        inside = kind and self.low <= value <= self.high
        if not inside or (self.above and value == self.low):
            start = "above" if self.above else "from"
            wanted = f"a number {start} {self.low:g} to {self.high:g}"
            raise self.refuse(wanted, value)
        return int(value) if float(value).is_integer() else float(value)

    def draw(self, rng: np.random.Generator) -> float:
        """Even over the range, its lower end left out."""
        return float(rng.uniform(self.low + (self.high - self.low) * 1e-6, self.high))


class OneOf(Checked):
    """One of a few values; else ValueError."""

    def __init__(self, default: Any, options: Iterable[Any]) -> None:
        self.options = list(options)
        super().__init__(default)

    def validate(self, obj: Any, value: Any) -> Any:
        """The option itself."""
        for option in self.options:
            if type(value) is type(option) and value == option:
                return option
        raise self.refuse(f"one of {', '.join(map(repr, self.options))}", value)

    def draw(self, rng: np.random.Generator) -> Any:
        """Every option is as likely."""
        return self.options[rng.integers(len(self.options))]


class Flag(OneOf):
    """True or False; else ValueError."""

    def __init__(self, default: bool) -> None:
        super().__init__(default, [False, True])


class Text(Checked):
    """A text of at most so many characters; else ValueError.

    examples: texts that tests draw from, the odd ones among them.
    """

    def __init__(self, default: str, longest: int, examples: Iterable[str]) -> None:
        self.longest, self.examples = longest, [default, *examples]
        super().__init__(default)

    def validate(self, obj: Any, value: Any) -> str:
        """The text itself."""
        if not isinstance(value, str) or len(value) > self.longest:
            raise self.refuse(f"a text of at most {self.longest} characters", value)
        return value

    def draw(self, rng: np.random.Generator) -> str:
        """One of the examples."""
        return self.examples[rng.integers(len(self.examples))]


def fixed(value: Any) -> Any:
    """What the script needs beside the state and nobody changes: words, scores."""
    return traitlets.Any(value, read_only=True).tag(sync=True)


# ---- the widget ----------------------------------------------------------------------


class FtcWidget(anywidget.AnyWidget):
    """A widget of the book. A subclass adds checked traits and four more things:

    compute(state) and describe(state, result), static and pure; picture(), a figure of
    the present state; `reserve`, the heights in pixels that it needs on a phone, on a
    large one and on a page, so that nothing moves when it starts (a test names them).
    """

    script: ClassVar[str]
    reserve: ClassVar[tuple[int, int, int]]
    parts = traitlets.Dict().tag(sync=True)  # stored numbers: name -> base64
    first: Any = traitlets.List().tag(sync=True)  # the parts needed at once

    def __init_subclass__(cls, **kwargs: Any) -> None:
        if "_esm" not in cls.__dict__:  # anywidget makes a subclass of its own, with it
            cls.script = cls.__module__.rsplit(".", 1)[-1]
            cls._esm, cls._css = module(cls.script), read_script("kit.css")
        super().__init_subclass__(**kwargs)

    @classmethod
    def checked_traits(cls) -> dict[str, Checked]:
        """The traits that a control changes, by name."""
        found = cls.class_traits(sync=True).items()
        return {name: trait for name, trait in found if isinstance(trait, Checked)}

    def state(self) -> dict[str, Any]:
        """The values of those traits."""
        return {name: getattr(self, name) for name in sorted(self.checked_traits())}

    @staticmethod
    def compute(state: Mapping[str, Any]) -> dict[str, Any]:
        """Plain numbers out of a state, as `compute` in the script."""
        raise NotImplementedError

    @staticmethod
    def sentence(state: Mapping[str, Any], result: Mapping[str, Any]) -> str:
        """The sentence below the picture, as `describe` in the script."""
        raise NotImplementedError

    def picture(self) -> Figure:
        """The present state as a figure, for print and where no script runs."""
        raise NotImplementedError

    def describe(self) -> str:
        """The present state in words: what the reader sees below the picture."""
        state = self.state()
        return self.sentence(state, self.compute(state))

    def __repr__(self) -> str:
        return self.describe()

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        text = self.describe()
        data = {**data, "text/plain": text, "image/png": png(self.picture())}
        return data, {**metadata, "image/png": {"alt": text}}


def png(figure: Figure) -> str:
    """A figure as base64; the same bytes every time."""
    import matplotlib.pyplot as plt

    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    plt.close(figure)
    return b64encode(buffer.getvalue()).decode("ascii")


def widget_classes() -> dict[str, type[FtcWidget]]:
    """Every widget of the book by the name of its script."""
    from contextual import widgets

    found: list[type[FtcWidget]] = [getattr(widgets, name) for name in widgets.__all__]
    return {cls.script: cls for cls in found}
