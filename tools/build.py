"""Build the book into _build/html and print the address to open (`make book`)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time

from tools.chapters import ROOT

JUPYTER_BOOK = "import sys; from jupyter_book.cli.main import main; sys.exit(main())"
OPTIONS = ["build", ".", "--all", "-n", "-W", "--keep-going"]


def fetch_first() -> None:
    """Have the model before the chapters run, so that its progress is seen here.

    Without it the chapters that run it are not run: their pages show what is stored.
    """
    from contextual.data import fetch_model

    try:
        fetch_model()
    except (RuntimeError, ValueError) as error:
        print(f"{error}\nThe chapters that run the model show their stored results.")
        os.environ["CONTEXTUAL_NO_MODEL"] = "1"


def main() -> int:
    fetch_first()
    print(f"$ jupyter-book {' '.join(OPTIONS)}", flush=True)
    start = time.perf_counter()
    shutil.rmtree(ROOT / "_build" / "html", ignore_errors=True)  # nothing of old builds
    command = [sys.executable, "-c", JUPYTER_BOOK, *OPTIONS]
    code = subprocess.run(command, cwd=ROOT).returncode
    front = ROOT / "_build" / "html" / "index.html"
    if code:
        print("The book was not built: every warning above is counted as an error.")
        return code
    if not front.exists():
        print("The book was built, but _build/html/index.html is not there.")
        return 1
    print(f"The book is built, {time.perf_counter() - start:.0f} s. Open it:")
    print(f"  {front.as_uri()}")
    print("or serve it: make serve")
    return 0


if __name__ == "__main__":
    sys.exit(main())
