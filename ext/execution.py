"""Chapters run again when anything they depend on has changed, and only then.

myst-nb keeps executed notebooks in a cache and looks them up by their code cells.
That misses the rest of what decides an output. So the *folder* of the cache carries a
hash of the package's source, the data, the pinned packages and Python: after a change
the cache starts empty. The folder is a Sphinx setting too, so Sphinx reads every page
again.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from nbclient import NotebookClient
from sphinx.application import Sphinx
from sphinx.config import Config

SUFFIXES = {".py", ".js", ".css", ".gz", ".xz", ".npz", ".npy", ".json", ".txt"}
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def installed(requirements: str) -> list[str]:
    """`name version` for every package that requirements.txt pins, as installed."""
    found = []
    for name in re.findall(r"^([A-Za-z0-9._-]+)==", requirements, flags=re.M):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} is not installed")
    return found


def key(root: Path) -> str:
    """A short hash of all that decides what a chapter prints, its own cells apart."""
    digest = hashlib.sha256(sys.version.encode())
    requirements = (root / "requirements.txt").read_text(encoding="utf-8")
    digest.update("\n".join(installed(requirements)).encode())
    for folder in ("contextual", "data"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                digest.update(f"\n{path.relative_to(root).as_posix()}\n".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def choose_cache(app: Sphinx, config: Config) -> None:
    """Point myst-nb at the folder of the present state; remove earlier ones."""
    for name in THREADS:  # the kernels inherit it: sums in one order on every machine
        os.environ[name] = "1"
    caches = Path(app.outdir).parent / ".jupyter_cache"
    chosen = caches / key(Path(app.srcdir))
    for old in caches.glob("*"):
        if old != chosen and old.is_dir():
            shutil.rmtree(old)
    config.nb_execution_cache_path = str(chosen)
    if os.environ.get("CONTEXTUAL_NO_MODEL"):
        config.nb_execution_excludepatterns += need_model(Path(app.srcdir))


def need_model(root: Path) -> list[str]:
    """The chapters that run the model; without it they keep their stored results."""
    chapters = sorted((root / "notebooks").glob("*.ipynb"))
    return [
        f"notebooks/{path.name}"
        for path in chapters
        if "load_model()" in path.read_text(encoding="utf-8")
    ]


def setup(app: Sphinx) -> None:
    # One text a cell: a kernel sends what is printed in parts, cut wherever its clock
    # struck, and each part would become a box of its own.
    NotebookClient.coalesce_streams.default_value = True
    app.connect("config-inited", choose_cache)
