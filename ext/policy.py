"""No inline code: what a strict Content-Security-Policy would block is moved to files.

Scripts of features that the book does not use are dropped; a style attribute becomes a
rule of the style sheet (`data-style`, written by `sheet`).
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup, Tag
from sphinx.util import logging

log = logging.getLogger(__name__)
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'"
)
DATA = {"application/json", "application/ld+json"}


def obey(soup: BeautifulSoup, context: dict[str, Any], static: Path) -> None:
    """Leave no inline script, style element, style attribute or on… handler."""
    for script in soup.find_all("script", src=False):
        if script.get("type") not in DATA:
            script.decompose()  # of the theme: its work is done by site.js
    for sheet in soup.find_all("style"):
        to_file(soup, sheet, context, static)
    for element in soup.find_all(style=True):
        style = str(element.attrs.pop("style")).strip().rstrip(";")
        if ":" in style:
            element["data-style"] = style
    for element in soup.find_all(lambda tag: bool(handlers(tag))):
        for name in handlers(element):
            where = context["pagename"]
            log.warning("dropped %s=%r", name, element[name], location=where)
            del element[name]


def handlers(element: Tag) -> list[str]:
    """The names of an element's on… attributes."""
    return [name for name in element.attrs if name.startswith("on")]


def to_file(
    soup: BeautifulSoup, sheet: Tag, context: dict[str, Any], static: Path
) -> None:
    """A style element becomes a file named by its content, shared between pages."""
    text = sheet.get_text()
    name = f"inline-{hashlib.sha256(text.encode()).hexdigest()[:12]}.css"
    static.mkdir(parents=True, exist_ok=True)
    (static / name).write_text(text, encoding="utf-8")
    href = context["pathto"](f"_static/{name}", 1)
    sheet.replace_with(soup.new_tag("link", rel="stylesheet", href=href))
