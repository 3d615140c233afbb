"""The exercises of the chapters: right answers, and the wrong ones people really give.

One module a chapter, named after the module of `contextual` that the chapter builds.
Every `Exercise` at the top of such a module is found by its name, `<module>-<name>`.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from contextual.checks import Exercise


@cache
def exercises() -> dict[str, Exercise]:
    """Every exercise by its name, in the order of the modules and of their lines."""
    found: dict[str, Exercise] = {}
    for module in pkgutil.iter_modules(__path__):
        names = vars(import_module(f"{__name__}.{module.name}"))
        for exercise in names.values():
            if isinstance(exercise, Exercise):
                found[exercise.name] = exercise
    return found
