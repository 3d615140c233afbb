"""The path from text to the next token, at the top of every chapter, its stage lit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup, Tag

STAGES = (  # what a reader meets in order; the chapter that adds it
    ("pieces and ids", "01_tokens"),
    ("vectors", "02_vectors"),
    ("row of the table", "03_embedding_lookup"),
    ("map of words", "04_word2vec_geometry"),
    ("learning it", "05_learning_the_map"),
    ("position", "06_position_encoding"),
    ("attention", "07_attention"),
    ("mask", "08_masking"),
    ("vector in context", "09_contextual_embeddings"),
    ("next token", "10_generate"),
)


def add(soup: BeautifulSoup, context: dict[str, Any], static: Path) -> None:
    """Put the strip above the title of a chapter; other pages stay as they are."""
    page = context["pagename"].removeprefix("notebooks/")
    title = soup.select_one("article h1")
    if page not in dict((name, stage) for stage, name in STAGES) or title is None:
        return
    written = {str(p).removeprefix("notebooks/") for p in context.get("chapters", ())}
    nav = soup.new_tag("nav", attrs={"class": "stages", "aria-label": "Stages"})
    row = soup.new_tag("ol")
    row.extend(stage(soup, context, page, written, *pair) for pair in STAGES)
    nav.append(row)
    title.insert_before(nav)
    first = title.find_next("p")  # the same path in words, for those in JupyterLab
    if isinstance(first, Tag) and first.get_text().startswith("text →"):
        first.decompose()


def stage(
    soup: BeautifulSoup,
    context: dict[str, Any],
    page: str,
    written: set[str],
    words: str,
    chapter: str,
) -> Tag:
    """One stage: a link, lit where it is this page, plain where no chapter is yet."""
    item = soup.new_tag("li")
    if chapter in written:
        inner = soup.new_tag("a", href=context["pathto"](f"notebooks/{chapter}"))
        if chapter == page:
            inner["aria-current"] = "page"
    else:
        inner = soup.new_tag("span")
    number = soup.new_tag("b")
    number.string = str(int(chapter[:2]))
    inner.extend([number, soup.new_string(" " + words)])
    item.append(inner)
    return item
