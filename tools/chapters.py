"""Where the chapters are, and how a notebook is read, written and looked at."""

from __future__ import annotations

import io
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
COMPARED = "nbval-check-output"
HIDDEN = "hide-input"
KEPT = re.compile(r"# kept in (contextual/(\w+)\.py)\s*$")
KEPT_CELL_METADATA = ("tags", "mystnb", "nbgrader", "name")
Notebook = dict[str, Any]
Cell = dict[str, Any]


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, and where: prints as `file: cell 3: what to do`."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def listed_pages(root: Path) -> list[str]:
    """The pages of _toc.yml in reading order, without a suffix."""
    text = (root / "_toc.yml").read_text(encoding="utf-8")
    return re.findall(r"^[\s-]*(?:root|file):\s*([\w./-]+)", text, flags=re.M)


def notebooks(root: Path) -> list[Path]:
    """Every chapter's notebook, by name, whether _toc.yml lists it yet or not."""
    return sorted((root / "notebooks").glob("*.ipynb"))


def read(path: Path) -> Notebook:
    """A notebook as a dict; a damaged one is a ValueError that names the file."""
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        return {**notebook, "cells": list(notebook["cells"])}
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path.name} is not a notebook: {error!r}.") from None


def source(cell: Cell) -> str:
    """The text of a cell, whether the file holds it as a string or as lines."""
    text = cell.get("source", "")
    return text if isinstance(text, str) else "".join(text)


def tags(cell: Cell) -> list[str]:
    """The tags of a cell; most have none."""
    return list(cell.get("metadata", {}).get("tags", []))


def kept_module(cell: Cell) -> str | None:
    """`attention` if the cell is headed `# kept in contextual/attention.py`."""
    if cell["cell_type"] != "code":
        return None
    match = KEPT.match(source(cell).split("\n", 1)[0])
    return match[2] if match else None


def name_of(path: Path, index: int) -> str:
    """How every gate names a cell: counted from 1, text cells too."""
    return f"{path.name}: cell {index + 1}"


def tidy(notebook: Notebook) -> Notebook:
    """The same notebook in the one form that is committed."""
    cells, used = [], set()
    for index, old in enumerate(notebook["cells"]):
        cell_id = old.get("id") or f"cell-{index + 1:02d}"
        while cell_id in used:
            cell_id += "-b"
        used.add(cell_id)
        metadata = old.get("metadata", {})
        cell: Cell = {
            "cell_type": old["cell_type"],
            "id": cell_id,
            "metadata": {k: metadata[k] for k in KEPT_CELL_METADATA if k in metadata},
            "source": source(old).splitlines(keepends=True),
        }
        if old["cell_type"] == "code":
            cell["execution_count"] = old.get("execution_count")
            cell["outputs"] = old.get("outputs", [])
        cells.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def write(path: Path, notebook: Notebook) -> bool:
    """Store a notebook in its one form; True if the file changed."""
    text = json.dumps(tidy(notebook), indent=1, ensure_ascii=False, sort_keys=True)
    text += "\n"
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    path.write_text(text, encoding="utf-8", newline="\n")
    return True


def report(gate: str, problems: list[Problem], good: str) -> int:
    """Print what a gate found; the exit code of its command."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # a screen that knows no minus sign
        sys.stdout.reconfigure(errors="backslashreplace")
    for problem in problems:
        print(problem)
    if problems:
        print(f"{gate}: {len(problems)} to put right.")
        return 1
    print(f"{gate}: {good}")
    return 0
