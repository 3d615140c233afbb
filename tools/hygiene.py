"""What a committed notebook may hold, and how large it may be (`make check`).

Stored outputs are those of compared cells and nothing else; cells and chapters keep to
the sizes of the house style.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.chapters import (
    COMPARED,
    HIDDEN,
    ROOT,
    Cell,
    Notebook,
    Problem,
    kept_module,
    name_of,
    notebooks,
    read,
    report,
    source,
    tags,
    tidy,
)

FEWEST_COMPARED = 8
FEWEST_CELLS, MOST_CELLS = 25, 45
MOST_WORDS = 2200
CODE_LINES, KEPT_LINES, KEPT_CLASS_LINES, HIDDEN_LINES = 15, 25, 45, 30
TEXT_WORDS, LONGEST_TEXT, LONG_TEXTS = 90, 200, 0.10
WIDGET = "widget"  # the tag of a picture that moves: not a cell to read
PRACTICE = "## Recall"  # from here on a chapter asks
FEWEST_QUESTIONS, FEWEST_CHECKED = 5, 2
CHECKED = re.compile(r'^check\("([\w-]+)"', flags=re.M)
REFUSED = {
    r"^\s*from\s+\S+\s+import\s+\*": "hides where a name comes from",
    r"^\s*[!%]+\s*pip\b": "installing is the set-up's work, not a chapter's",
    r"^\s*%+\s*matplotlib\b": "is not needed and breaks the page",
}


def stored_outputs(cell: Cell) -> Iterator[str]:
    """What is wrong with what a code cell stores."""
    outputs, compared = cell.get("outputs", []), COMPARED in tags(cell)
    count = cell.get("execution_count")
    if not compared and outputs:
        yield f"stores an output but is not tagged {COMPARED}: run `make outputs`"
    if not compared and count is not None:
        yield "stores an execution count but no compared output: run `make outputs`"
    if compared and count is None:
        yield "is compared but has no execution count: nbval would skip it silently"
    if compared and not outputs:
        yield "is compared but stores no output: run `make outputs`"
    for output in outputs:
        yield from stored_output(output)


def stored_output(output: dict[str, Any]) -> Iterator[str]:
    """What is wrong with one stored output: it is text that repeats, or nothing."""
    kind, data = output["output_type"], output.get("data", {})
    text = "".join(output.get("text", [])) + "".join(data.get("text/plain", []))
    if kind == "error":
        yield f"stores an error ({output.get('ename', 'unknown')})"
    elif kind == "stream" and output.get("name") != "stdout":
        yield "stores what was written to stderr"
    if any(mime.startswith("application/vnd.jupyter.widget") for mime in data):
        yield "stores a widget"
    elif any(mime.startswith("image/") for mime in data):
        yield "stores a figure"
    elif set(data) - {"text/plain"}:
        yield f"stores {', '.join(sorted(set(data) - {'text/plain'}))}, not only text"
    if re.search(r"\bat 0x[0-9a-fA-F]+", text):
        yield "stores a memory address, which changes with every run"


def code_size(cell: Cell) -> Iterator[str]:
    """Whether a code cell is short enough for what it is."""
    lines = [line for line in source(cell).splitlines() if line.strip()]
    if kept_module(cell):
        lines = lines[1:]
        is_class = any(line.startswith("class ") for line in lines)
        most = KEPT_CLASS_LINES if is_class else KEPT_LINES
    else:
        most = HIDDEN_LINES if HIDDEN in tags(cell) else CODE_LINES
    if len(lines) > most:
        yield f"has {len(lines)} lines of code, more than {most}"


def refused_lines(cell: Cell) -> Iterator[str]:
    for pattern, reason in REFUSED.items():
        match = re.search(pattern, source(cell), flags=re.M)
        if match:
            yield f"`{match[0].strip()}`: {reason}"


def words(cell: Cell) -> int:
    """The words a reader reads: no fences, no directive options, no comments."""
    text = re.sub(r"<!--.*?-->", "", source(cell), flags=re.S)
    lines = (line.strip() for line in text.splitlines())
    read_lines = [
        line for line in lines if not re.match(r"(`{3,}|:{3,}|:[\w-]+:( |$))", line)
    ]
    return len(" ".join(read_lines).split())


def text_sizes(path: Path, cells: list[Cell]) -> Iterator[Problem]:
    """Text cells of at most 90 words, few longer ones, none above 200.

    `cells` end before the recall questions: those are to choose from, not to read.
    """
    sizes = {i: words(c) for i, c in enumerate(cells) if c["cell_type"] == "markdown"}
    long = [i for i, size in sizes.items() if size > TEXT_WORDS]
    for index in long:
        if sizes[index] > LONGEST_TEXT:
            what = f"has {sizes[index]} words, more than {LONGEST_TEXT}"
            yield Problem(name_of(path, index), what)
    if len(long) > max(1, LONG_TEXTS * len(sizes)):
        where = ", ".join(str(index + 1) for index in long)
        what = f"{len(long)} of {len(sizes)} text cells have over {TEXT_WORDS} words"
        yield Problem(path.name, f"{what} (cells {where})")
    if sum(sizes.values()) > MOST_WORDS:
        what = f"has {sum(sizes.values())} words, more than {MOST_WORDS}"
        yield Problem(path.name, what)


def in_two(cells: list[Cell]) -> tuple[list[Cell], list[Cell]]:
    """The cells that teach, and those from the recall questions on."""
    starts = [i for i, c in enumerate(cells) if source(c).startswith(PRACTICE)]
    cut = starts[0] if starts else len(cells)
    return cells[:cut], cells[cut:]


def practice(cells: list[Cell]) -> Iterator[str]:
    """Five questions, two checked exercises, and a compared solution for each."""
    questions = sum(source(cell).startswith(":::{recall}") for cell in cells)
    if questions < FEWEST_QUESTIONS:
        yield f"has {questions} recall questions, fewer than {FEWEST_QUESTIONS}"
    started: set[str] = set()
    solved: set[str] = set()
    inside = False
    for cell in cells:
        if cell["cell_type"] == "markdown":
            opens = source(cell).startswith("```{solution-start}")
            inside = opens or (inside and "{solution-end}" not in source(cell))
        elif inside and COMPARED not in tags(cell):
            yield "has a solution that is not compared: tag it nbval-check-output"
        else:
            (solved if inside else started).update(CHECKED.findall(source(cell)))
    if len(started) < FEWEST_CHECKED:
        yield f"has {len(started)} exercises with check(…), not {FEWEST_CHECKED}"
    for name in sorted(started ^ solved):
        yield f"exercise {name} needs a starter cell and a solution, both with check(…)"


def first_code_cell(path: Path, cells: list[Cell]) -> Iterator[Problem]:
    """The first code cell imports, and does nothing else."""
    for index, cell in enumerate(cells):
        if cell["cell_type"] != "code":
            continue
        try:
            body = ast.parse(source(cell)).body
        except SyntaxError as error:
            yield Problem(name_of(path, index), f"is not Python: {error.msg}")
            return
        if not all(isinstance(node, ast.Import | ast.ImportFrom) for node in body):
            what = "is the first code cell: it holds imports and nothing else"
            yield Problem(name_of(path, index), what)
        return


def chapter(path: Path, notebook: Notebook) -> Iterator[Problem]:
    """Everything that is wrong with one chapter."""
    cells = notebook["cells"]
    compared = 0
    for index, cell in enumerate(cells):
        if cell["cell_type"] != "code":
            continue
        compared += COMPARED in tags(cell)
        for rule in (stored_outputs, code_size, refused_lines):
            for what in rule(cell):
                yield Problem(name_of(path, index), what)
    if "widgets" in notebook.get("metadata", {}):
        yield Problem(path.name, "stores widget state")
    if compared < FEWEST_COMPARED:
        what = f"has {compared} compared cells, fewer than {FEWEST_COMPARED}"
        yield Problem(path.name, what)
    taught, asked = in_two(cells)
    taught = [
        cell for cell in taught if WIDGET not in tags(cell)
    ]  # a picture that moves
    if not FEWEST_CELLS <= len(taught) <= MOST_CELLS:
        what = f"has {len(taught)} cells, not {FEWEST_CELLS} to {MOST_CELLS}"
        yield Problem(path.name, what)
    yield from text_sizes(path, taught)
    for what in practice(asked):
        yield Problem(path.name, what)
    yield from first_code_cell(path, cells)
    if tidy(notebook) != notebook:
        what = "is not in the form that is committed (ids, metadata): `make outputs`"
        yield Problem(path.name, what)


def hygiene(root: Path) -> list[Problem]:
    """Everything that is wrong with the chapters below `root`."""
    found: list[Problem] = []
    for path in notebooks(root):
        try:
            found += chapter(path, read(path))
        except ValueError as error:
            found.append(Problem(path.name, str(error)))
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="hygiene", description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="of the book")
    options = parser.parse_args(arguments)
    count = len(notebooks(options.root))
    good = f"{count} chapters store what is compared and nothing else."
    return report("hygiene", hygiene(options.root), good)


if __name__ == "__main__":
    sys.exit(main())
