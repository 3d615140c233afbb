"""Run the gates one after the other (`make test`, `make quick`, `make check`).

The first gate that fails stops the run with a sentence. pytest comes last, so that its
own closing line is the last line.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass

from tools.chapters import ROOT, notebooks


@dataclass(frozen=True)
class Gate:
    """A command, and what it means when it fails."""

    name: str
    command: tuple[str, ...]
    broken: str


RUFF = Gate(
    "ruff check",
    ("ruff", "check", "."),
    "The code breaks a rule of pyproject.toml; "
    "`.venv/bin/python -m ruff check --fix .` mends many.",
)
FORMAT = Gate(
    "ruff format",
    ("ruff", "format", "--check", "."),
    "Some files are not in the common format: run `.venv/bin/python -m ruff format .`",
)
TYPES = Gate("types", ("mypy",), "The type checker disagrees with an annotation.")
SYNC = Gate(
    "sync",
    ("tools.sync", "--check"),
    "A chapter does not show the package's code: run `make sync`.",
)
HYGIENE = Gate(
    "hygiene",
    ("tools.hygiene",),
    "A notebook stores what it must not: `make outputs` mends stored outputs.",
)
NUMBERS = Gate(
    "numbers",
    ("tools.numbers",),
    "A number in prose is backed by no compared cell and no paper.",
)
BUILD = Gate("build", ("tools.build",), "The book does not build without a warning.")
NBVAL = Gate(
    "nbval",
    ("pytest", "--nbval-lax", "notebooks", "-q", "-p", "no:cacheprovider"),
    "A chapter prints other numbers than the stored ones, or raises.",
)
PYTEST = Gate("pytest", ("pytest",), "A test failed; see above.")
FAST = Gate("pytest", ("pytest", "-m", "not slow"), PYTEST.broken)

CHECK = [RUFF, FORMAT, TYPES, SYNC, HYGIENE, NUMBERS]
SETS = {
    "check": CHECK,
    "quick": [*CHECK, FAST],
    "test": [*CHECK, BUILD, NBVAL, PYTEST],
}


def run(gate: Gate) -> int:
    """Announce a gate, run it, say how long it took; pytest says that itself."""
    print(f"\n== {gate.name}: {' '.join(gate.command)}", flush=True)
    start = time.perf_counter()
    command = [sys.executable, "-m", *gate.command]
    code = subprocess.run(command, cwd=ROOT).returncode
    if code:
        print(f"== {gate.name} failed. {gate.broken}", flush=True)
    elif gate.name != PYTEST.name:
        print(f"== {gate.name}: good, {time.perf_counter() - start:.1f} s", flush=True)
    return code


def main(arguments: list[str] | None = None) -> int:
    (name,) = sys.argv[1:] if arguments is None else arguments
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"
    for gate in SETS[name]:
        if gate is NBVAL and not notebooks(ROOT):
            print("\n== nbval: there is no chapter yet", flush=True)
        elif run(gate):
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
