"""A browser for the tests, and small pages with widgets in them.

The browser is Chromium: named by CONTEXTUAL_CHROMIUM, or found as chromium,
chromium-browser or google-chrome, or Playwright's own. Where there is none the tests
are skipped and say how to get one; with CI=true they fail.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from bs4 import BeautifulSoup

sync_api = pytest.importorskip("playwright.sync_api")

from contextual.widgets.base import FtcWidget  # noqa: E402
from ext import widgets  # noqa: E402

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'"
)
NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
HOW = (
    "no browser for the browser tests. Install one (Debian: apt-get install chromium; "
    "elsewhere: python -m playwright install chromium) or name one: "
    "CONTEXTUAL_CHROMIUM=/path/to/chromium."
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A browser takes seconds to start: not in `make quick`."""
    here = str(Path(__file__).parent)
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.slow)


def find_browser(playwright: Any) -> str | None:
    """The path of a Chromium, or None. A name that leads nowhere is an error."""
    named = os.environ.get("CONTEXTUAL_CHROMIUM")
    if named:
        if not shutil.which(named):
            pytest.fail(f"CONTEXTUAL_CHROMIUM={named} is not a program.")
        return named
    found = next(filter(None, map(shutil.which, NAMES)), None)
    own = playwright.chromium.executable_path
    return found or (own if Path(own).exists() else None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One Chromium for all tests."""
    with sync_api.sync_playwright() as playwright:
        path = find_browser(playwright)
        if path is None:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(HOW)
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


# ---- pages ---------------------------------------------------------------------------

SHELL = """<!DOCTYPE html>
<html lang="en" data-theme="light"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>Widgets</title>
<link rel="icon" href="pixel.png"><link rel="stylesheet" href="shell.css"></head>
<body><main><h1>Widgets</h1></main></body></html>"""
SHELL_CSS = """body { margin: 0; font-family: sans-serif; background: #fff; }
html[data-theme=dark] body { background: #121417; color: #eee; }
main { max-width: 720px; margin: 0 auto; padding: 0 16px; }
@media (max-width: 400px) { main { padding: 0 12px; } }"""
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d4944415478"
    "da63f8ffff3f0300080002fe7a8e5ad80000000049454e44ae426082"
)


def write_page(folder: Path, *shown: FtcWidget) -> Path:
    """A page that shows widgets as the book's do; what myst-nb leaves is imitated."""
    soup = BeautifulSoup(SHELL, "html.parser")
    models = {w.model_id: {"state": w.get_state()} for w in shown}
    for w in shown:
        place = soup.new_tag("div", attrs={"class": "ftc-place"})
        view = soup.new_tag("script", type=widgets.VIEW)
        view.string = json.dumps({"model_id": w.model_id})
        place.extend([view, soup.new_tag("img", src="pixel.png", alt=repr(w))])
        soup.main.append(place)
    state = soup.new_tag("script", type=widgets.STATE)
    state.string = json.dumps({"state": models}, default=str).replace("</", "<\\/")
    soup.body.append(state)
    context = {"pagename": "page", "pathto": lambda name, resource: name}
    widgets.mount(soup, context, folder / "_static")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.html").write_text(str(soup), encoding="utf-8")
    (folder / "shell.css").write_text(SHELL_CSS, encoding="utf-8")
    (folder / "pixel.png").write_bytes(PIXEL)
    return folder / "index.html"


class Strict(SimpleHTTPRequestHandler):
    """Serves a folder under the strict policy, silently."""

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", POLICY)
        super().end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A folder and the address under which it is served, below a sub-path."""
    folder = tmp_path_factory.mktemp("site")
    handler = functools.partial(Strict, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield folder / "sub", f"http://127.0.0.1:{server.server_port}/sub"
    server.shutdown()
    server.server_close()


@dataclass
class Opened:
    """A page in the browser, and what it said and asked for meanwhile."""

    page: Any
    home: str
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def outside(self) -> list[str]:
        """Requests that left the site; data: addresses never do."""
        return [url for url in self.asked if not url.startswith((self.home, "data:"))]


@pytest.fixture
def opened(browser: Any, site: tuple[Path, str]) -> Iterator[Callable[..., Opened]]:
    """open(widget, …, width=720): a page with these widgets; checked when closed.

    Whatever a test does, the console stays empty and no request leaves the site.
    """
    contexts, pages, (folder, home) = [], [], site

    def open_page(*shown: FtcWidget, width: int = 720, **options: Any) -> Opened:
        name = f"p{len(list(folder.glob('p*')))}"
        write_page(folder / name, *shown)
        view = {"width": width, "height": 900}
        contexts.append(browser.new_context(viewport=view, **options))
        page = contexts[-1].new_page()
        result = Opened(page, home)
        page.on("console", lambda message: result.said.append(message.text))
        page.on("pageerror", lambda error: result.said.append(str(error)))
        page.on("request", lambda request: result.asked.append(request.url))
        page.goto(f"{home}/{name}/index.html")
        pages.append(result)
        return result

    yield open_page
    for context in contexts:
        context.close()
    for result in pages:
        assert result.said == [], "the console stays empty"
        assert result.outside() == [], "no request leaves the site"
