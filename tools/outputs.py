"""Run the chapters and store what is compared, nothing else (`make outputs`).

Each chapter is run whole in a fresh kernel. A cell tagged `nbval-check-output` keeps
its printed text and its execution count (without one nbval would skip it without a
word); every other output, all figures and all widget state are left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

from tools.chapters import (
    COMPARED,
    ROOT,
    Notebook,
    name_of,
    notebooks,
    read,
    source,
    tags,
    tidy,
    write,
)

ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)


def run(notebook: Notebook, folder: Path, seconds: int = 600) -> Notebook:
    """The notebook executed in a fresh kernel that starts in `folder`."""
    import nbformat
    from nbclient import NotebookClient

    os.environ.update(ONE_THREAD)
    node = nbformat.reads(json.dumps(tidy(notebook)), as_version=4)
    NotebookClient(
        node,
        timeout=seconds,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    ).execute()
    return dict(node)


def compared_outputs(cell: dict[str, Any], where: str) -> list[dict[str, Any]]:
    """The printed text of a compared cell; a figure or a warning there is refused."""
    kept: list[dict[str, Any]] = []
    for output in cell["outputs"]:
        kind = output["output_type"]
        if kind == "stream" and output["name"] == "stdout":
            text = "".join(output["text"])
            if kept and kept[-1]["output_type"] == "stream":
                text = "".join(kept.pop()["text"]) + text
            lines = text.splitlines(keepends=True)
            kept.append({"output_type": "stream", "name": "stdout", "text": lines})
        elif kind == "execute_result" and set(output["data"]) == {"text/plain"}:
            text = "".join(output["data"]["text/plain"])
            data = {"text/plain": text.splitlines(keepends=True)}
            count = output["execution_count"]
            fields = {"data": data, "execution_count": count, "metadata": {}}
            kept.append({"output_type": kind, **fields})
        else:
            what = "writes to stderr" if kind == "stream" else "shows more than text"
            raise ValueError(
                f"{where} is tagged {COMPARED} but {what}: print the numbers in a "
                "cell of their own."
            )
    if not kept:
        raise ValueError(f"{where} is tagged {COMPARED} but prints nothing.")
    return kept


def strip(notebook: Notebook, path: Path) -> Notebook:
    """The executed notebook with the outputs of compared cells only."""
    for index, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] != "code":
            continue
        if COMPARED in tags(cell):
            cell["outputs"] = compared_outputs(cell, name_of(path, index))
        else:
            cell["outputs"], cell["execution_count"] = [], None
    return notebook


def slowest(notebook: Notebook) -> str:
    """Which cell took longest, from the times that the client notes in each cell."""
    from datetime import datetime

    times = []
    for index, cell in enumerate(notebook["cells"]):
        noted = cell.get("metadata", {}).get("execution", {})
        keys = ("iopub.status.busy", "iopub.status.idle")
        if all(key in noted for key in keys) and source(cell):
            start, end = (datetime.fromisoformat(noted[key]) for key in keys)
            times.append(((end - start).total_seconds(), index + 1))
    if not times:
        return "no code"
    seconds, cell_number = max(times)
    return f"longest: cell {cell_number}, {seconds:.1f} s"


def lacks_torch(notebook: Notebook) -> bool:
    """Whether a compared cell uses torch where it is left out (TORCH=no)."""
    cells = [cell for cell in notebook["cells"] if COMPARED in tags(cell)]
    uses = any(re.search(r"\btorch\b", source(cell)) for cell in cells)
    return uses and importlib.util.find_spec("torch") is None


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="outputs", description=__doc__)
    parser.add_argument("names", nargs="*", help="chapters, such as 01_tokens; or all")
    options = parser.parse_args(arguments)
    wanted = {Path(name).stem for name in options.names}
    paths = [p for p in notebooks(ROOT) if not wanted or p.stem in wanted]
    missing = wanted - {path.stem for path in paths}
    if missing:
        print(f"There is no notebooks/{sorted(missing)[0]}.ipynb.")
        return 1
    for path in paths:
        if lacks_torch(read(path)):
            print(
                f"{path.name} is left as it was: it compares with torch, which is not "
                "installed here; TORCH=yes make outputs installs it."
            )
            return 1
        print(f"{path.name} runs ...", flush=True)
        start = time.perf_counter()
        try:
            done = run(read(path), path.parent)
            note = slowest(done)
            changed = write(path, strip(done, path))
        except Exception as error:  # the kernel's own traceback is the message
            print(f"{path.name} is left as it was.\n{error}")
            return 1
        state = "stored" if changed else "nothing new"
        print(f"{path.name}: {time.perf_counter() - start:.1f} s ({note}); {state}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
