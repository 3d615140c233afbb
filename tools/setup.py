"""Make `.venv` and install what the book needs; needs nothing but Python itself.

    python tools/setup.py book    to read, run and build the book
    python tools/setup.py dev     the same, and what the checks need

Nothing is done while the requirement files, pyproject.toml, the folder and `.venv`'s
Python are as they were. `--torch-index ADDRESS` (or TORCH_INDEX) names a package index
that is asked for torch first. TORCH=no leaves torch out until TORCH=yes asks for it.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = VENV / "setup-done.json"
LOG = VENV / "setup.log"
OLDEST, NEWEST_TRIED = (3, 11), (3, 13)
FILES = {
    "book": ["requirements.txt", "pyproject.toml"],
    "dev": ["requirements.txt", "requirements-dev.txt", "pyproject.toml"],
}
NEED_TORCH = ("torch==", "accelerate==")  # the second would bring the first along
WITHOUT_TORCH = (
    "torch is left out (TORCH=no). Every page can be read and built; the cells that "
    "compare with torch or train with it say that it is missing, and the checks that "
    "need it are skipped."
)


def say(text: str) -> None:
    print(text, flush=True)


def state(level: str, torch: bool, version: str) -> str:
    """A hash of all that decides what belongs in `.venv`."""
    digest = hashlib.sha256(f"{ROOT}|{version}|torch={torch}".encode())
    for name in FILES[level]:
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def stamps() -> dict[str, Any]:
    """The states that were installed to the end, and whether torch was wanted."""
    try:
        return dict(json.loads(STAMP.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def wants_torch(done: dict[str, Any]) -> bool:
    """What TORCH says; if it says nothing, what was chosen the last time."""
    choice = os.environ.get("TORCH", "").lower()
    return choice not in ("no", "0", "false") if choice else done.get("torch", True)


def venv_version() -> str:
    """The version of `.venv`'s Python; empty if there is none that runs."""
    ask = "import sys, pip; print(sys.version)"
    try:
        done = subprocess.run([PYTHON, "-c", ask], capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def make_venv() -> None:
    """A new `.venv`, of the Python that runs this file."""
    have = platform.python_version()
    if sys.version_info < OLDEST:
        raise SystemExit(
            f"The book needs Python {dotted(OLDEST)} or newer; this is Python {have}. "
            "Name another one, such as: make PYTHON=python3.12 book"
        )
    if sys.version_info[:2] > NEWEST_TRIED:
        say(f"Python {have} is newer than any this book was tried with.")
    say(f"Making .venv with Python {have} ...")
    done = subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)])
    if done.returncode:
        raise SystemExit(
            "Python could not make a virtual environment. On Debian and Ubuntu the "
            "package python3-venv is missing; elsewhere install Python from its site."
        )


def dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))


def shown(line: str) -> str | None:
    """What a line of pip's log says to a person who waits, or None."""
    words = line.split()
    if line.startswith("Installing collected packages"):
        return "unpacking (a minute or two)"
    if len(words) < 2 or words[0] not in ("Collecting", "Downloading"):
        return None
    size = line[line.rfind("(") :] if words[0] == "Downloading" else ""
    return f"{words[1].split('/')[-1]} {size}".strip()


def pip(what: str, *arguments: str) -> bool:
    """Run pip; one line of progress on the screen, all it says in `.venv/setup.log`."""
    say(what)
    command = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", *arguments]
    start, last, live = time.monotonic(), 0.0, sys.stdout.isatty()
    with LOG.open("a", encoding="utf-8") as log:
        log.write(f"\n$ pip {' '.join(arguments)}\n")
        run = subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
        assert run.stdout is not None
        for line in run.stdout:
            log.write(line)
            now, text = time.monotonic(), shown(line)
            if text and live:
                print(
                    f"\r\033[K  {now - start:4.0f} s  {text[:68]}", end="", flush=True
                )
            elif text and (now - last > 10 or text.startswith("unpacking")):
                say(f"  {now - start:4.0f} s  {text}")
                last = now
    if live:
        print("\r\033[K", end="")
    good = run.wait() == 0
    say(f"  {'done' if good else 'not done'}, {time.monotonic() - start:.0f} s")
    return good


def give_up(what: str) -> None:
    """Stop with the end of pip's log and a sentence."""
    lines = LOG.read_text(encoding="utf-8").splitlines()[-15:]
    say("\n".join(f"  | {line}" for line in lines))
    raise SystemExit(f"{what} The whole log is .venv/{LOG.name}.")


def torch_pin() -> str:
    """The `torch==…` line of requirements.txt."""
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return next(line.strip() for line in lines if line.startswith("torch=="))


def has_torch(pin: str) -> bool:
    """Whether torch is there in the pinned version (`2.13.0+cpu` is one)."""
    ask = "from importlib.metadata import version; print(version('torch'))"
    done = subprocess.run([PYTHON, "-c", ask], capture_output=True, text=True)
    return done.stdout.strip().split("+")[0] == pin.partition("==")[2]


def install_torch(index: str) -> None:
    """torch from `index`, small; where that cannot be reached, the usual torch."""
    pin = torch_pin()
    if has_torch(pin):
        return
    if index:
        few = ["--retries", "1", "--timeout", "15"]
        what = f"Installing {pin} for the CPU (about 200 MB to download)..."
        if pip(what, "install", *few, "--index-url", index, pin):
            return
        say("  That index cannot be reached; the usual one is asked.")
    size = " (on Linux several GB)" if sys.platform == "linux" else ""
    if not pip(f"Installing {pin}{size}...", "install", pin):
        give_up(f"{pin} could not be installed. TORCH=no goes on without it.")


def requirements(level: str, torch: bool) -> list[str]:
    """The pinned lines of the requirement files, torch left out if it is not wanted."""
    lines: list[str] = []
    for name in FILES[level][:-1]:
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
            text = line.partition("#")[0].strip()
            if text and not text.startswith("-r"):
                lines.append(text)
    return [line for line in lines if torch or not line.startswith(NEED_TORCH)]


def install(level: str, torch: bool, index: str) -> None:
    """Everything of `level`, then the book's own package, then a check of the whole."""
    LOG.write_text("", encoding="utf-8")
    if torch:
        install_torch(index)
    else:
        say(WITHOUT_TORCH)
    lines = requirements(level, torch)
    chosen = VENV / f"requirements-{level}.txt"
    chosen.write_text("\n".join(lines) + "\n", encoding="utf-8")
    what = f"Installing {len(lines)} pinned packages and what they need..."
    if not pip(what, "install", "-r", str(chosen)):
        give_up("The packages could not be installed.")
    what = "Installing the book's own package, contextual..."
    if not pip(what, "install", "--no-deps", "-e", "."):
        give_up("The package contextual could not be installed.")
    if not pip("Checking that all packages fit together...", "check"):
        give_up("Some packages do not fit together.")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("level", choices=["book", "dev"])
    parser.add_argument("--torch-index", default=os.environ.get("TORCH_INDEX", ""))
    options = parser.parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):  # pip's log may hold any letter
        sys.stdout.reconfigure(errors="backslashreplace")
    version, done = venv_version(), stamps()
    torch = wants_torch(done)
    if version and done.get(options.level) == state(options.level, torch, version):
        return 0
    say(f"Setting up .venv for: {options.level}. This happens once.")
    if not version:
        make_venv()
        version = venv_version()
    install(options.level, torch, options.torch_index)
    levels = ("dev", "book") if options.level == "dev" else ("book",)
    done = {level: state(level, torch, version) for level in levels}
    done["torch"] = torch
    STAMP.write_text(json.dumps(done, indent=1) + "\n", encoding="utf-8")
    say("Set-up is complete.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
