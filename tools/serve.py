"""Serve _build/html on this machine, at / or under a sub-path (`make serve`)."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tools.chapters import ROOT


class Pages(SimpleHTTPRequestHandler):
    """The files below `directory`, published at `prefix`, as a project site is."""

    def __init__(self, *arguments: object, prefix: str, directory: str) -> None:
        self.prefix = prefix
        super().__init__(*arguments, directory=directory)  # type: ignore[arg-type]

    def send_head(self):  # type: ignore[no-untyped-def]
        if self.path.startswith(self.prefix):
            return super().send_head()  # self.path keeps the prefix for redirects
        self.send_error(404, f"The book is at {self.prefix}")
        return None

    def send_error(self, code, message=None, explain=None):  # type: ignore[no-untyped-def]
        """For an unknown address the book's own page, as hosts send it."""
        page = Path(self.directory) / "404.html"
        if code != 404 or not page.exists():
            return super().send_error(code, message, explain)
        body = page.read_bytes()
        self.send_response(404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        return None

    def translate_path(self, path: str) -> str:
        return super().translate_path("/" + path[len(self.prefix) :])

    def log_message(self, format: str, *arguments: object) -> None:
        if len(arguments) > 1 and str(arguments[1]).startswith(("4", "5")):
            super().log_message(format, *arguments)


def as_prefix(text: str) -> str:
    """`/x/` from `x`, `/x` or `/x/`; `/` from nothing."""
    inner = text.strip("/")
    return f"/{inner}/" if inner else "/"


def server(folder: Path, port: int, prefix: str) -> ThreadingHTTPServer:
    """A server of `folder`, bound to this machine only."""
    pages = partial(Pages, prefix=prefix, directory=str(folder))
    return ThreadingHTTPServer(("127.0.0.1", port), pages)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="serve", description=__doc__)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--prefix", type=as_prefix, default="/", help="such as /x/")
    options = parser.parse_args(arguments)
    folder = ROOT / "_build" / "html"
    if not (folder / "index.html").exists():
        print("There is no built book yet: run `make book` first.")
        return 1
    try:
        pages = server(folder, options.port, options.prefix)
    except OSError as error:
        print(f"Port {options.port} cannot be used ({error}): try PORT=8001.")
        return 1
    print(f"The book is at http://127.0.0.1:{options.port}{options.prefix}")
    print("Stop it with Ctrl-C.", flush=True)
    try:
        pages.serve_forever()
    except KeyboardInterrupt:
        print()
    finally:
        pages.server_close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
