"""One style sheet of the book's own, after the theme's."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

STATIC = Path(__file__).parent / "static"


def add_static_folder(app: Sphinx, config: Config) -> None:
    """Copy ext/static into the built book; jupyter-book sets its own paths first."""
    config.html_static_path.append(str(STATIC))


def setup(app: Sphinx) -> None:
    app.connect("config-inited", add_static_folder)
    app.add_css_file("book.css", priority=900)
