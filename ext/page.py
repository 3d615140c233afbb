"""What happens to a page between the theme's template and the file.

A template bridge hands every finished page to a list of steps. Each step takes the
page as BeautifulSoup, Sphinx's context, and the folder _static of the output.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup, Comment
from sphinx.jinja2glue import BuiltinTemplateLoader

from ext import access, figures, policy, strip, widgets

LONGEST_DESCRIPTION = 155  # what a list of search results shows


class Bridge(BuiltinTemplateLoader):
    """Sphinx's own template loader, and the steps after it."""

    def init(self, builder: Any, theme: Any = None, dirs: Any = None) -> None:
        super().init(builder, theme, dirs)
        self.builder = builder

    def render(self, template: str, context: dict[str, Any]) -> str:  # type: ignore[override]
        html = super().render(template, context)
        if "pagename" not in context or "<html" not in html[:200]:
            return html
        context["image_files"] = image_files(self.builder)
        return finished(html, context, Path(self.builder.outdir) / "_static")


def image_files(builder: Any) -> dict[str, Path]:
    """Where the file of every picture lies, by the name it has in the book."""
    source = Path(builder.srcdir)  # an absolute path stays as it is
    return {name: source / path for path, name in builder.images.items()}


def finished(html: str, context: dict[str, Any], static: Path) -> str:
    """A page after all steps, with no empty lines between its elements."""
    soup = BeautifulSoup(html, "html.parser")
    steps = (widgets.mount, strip.add, access.mend, figures.place, policy.obey, head)
    for step in steps:
        step(soup, context, static)
    return str(soup)


def head(soup: BeautifulSoup, context: dict[str, Any], static: Path) -> None:
    """A description, and no comments or doubles."""
    for comment in soup.find_all(string=lambda text: isinstance(text, Comment)):
        comment.extract()
    assert soup.head is not None
    for double in soup.select("meta[name=viewport]")[1:]:
        double.decompose()
    for meta in soup.select("meta[name^=docsearch], meta[name=docbuild]"):
        meta.decompose()
    if not soup.select("meta[name=description]"):
        content = {"name": "description", "content": description(soup)}
        soup.head.append(soup.new_tag("meta", attrs=content))


def description(soup: BeautifulSoup) -> str:
    """The first words of the page's first paragraph, up to a whole word."""
    found = soup.select_one("article.bd-article section > p")
    text = found.get_text(" ") if found else soup.title.get_text() if soup.title else ""
    text = re.sub(r"\s+([.,:;?!])", r"\1", " ".join(text.split()))
    if len(text) <= LONGEST_DESCRIPTION:
        return text
    return text[:LONGEST_DESCRIPTION].rsplit(" ", 1)[0] + "…"
