"""Mends what the theme and its extensions leave for screen readers and keyboards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup, Tag

DIALOGS = {"pst-primary-sidebar-modal": "Pages", "pst-secondary-sidebar-modal": "Page"}


def mend(soup: BeautifulSoup, context: dict[str, Any], static: Path) -> None:
    """Every mending, in an order that does not matter."""
    for step in (roles, names, ids, folds, tooltips, tables):
        step(soup)


def roles(soup: BeautifulSoup) -> None:
    """Landmarks and lists say what they are."""
    for entry in soup.select(".citation-list > .citation"):
        entry["role"] = "listitem"  # doc-biblioentry is no child of a list any more
    for bar in soup.select("#pst-primary-sidebar"):
        bar["role"], bar["aria-label"] = "complementary", "Book"
    for icon in soup.select("i[class*=fa-], span[class*=fa-]"):
        icon["aria-hidden"] = "true"
    for dialog in soup.select("dialog[id$=sidebar-modal]"):
        dialog["aria-label"] = DIALOGS.get(str(dialog["id"]), "Page")


def names(soup: BeautifulSoup) -> None:
    """Folds are named by what they fold; boxes to tick by whether they are ticked."""
    for summary in soup.select("summary[aria-label]"):
        if summary.get_text(strip=True):
            del summary["aria-label"]  # the visible text is the name
    for summary in soup.select("li > details > summary"):
        item = summary.find_parent("li")
        link = item.find("a") if isinstance(item, Tag) else None
        if isinstance(link, Tag) and not summary.get_text(strip=True):
            summary["aria-label"] = "Pages under " + link.get_text(strip=True)
    for box in soup.select("input.task-list-item-checkbox"):
        box["aria-label"] = "done" if box.has_attr("checked") else "to do"


def ids(soup: BeautifulSoup) -> None:
    """One id, one element: the parts of an exercise all had the same.

    The theme repeats title and contents for print; the title itself prints, too.
    """
    for double in soup.select("#jb-print-docs-body"):
        double.decompose()
    for part in soup.select(".exercise > section[id], .solution > section[id]"):
        del part["id"]
    seen: set[str] = set()
    for element in soup.find_all(id=True):
        name = str(element["id"])
        if name in seen:
            del element["id"]
        seen.add(name)


def folds(soup: BeautifulSoup) -> None:
    """Boxes that open and close become <details>: no script, and keys work."""
    for box in soup.select("div.admonition.dropdown, div.toggle"):
        title = box.find(class_="admonition-title", recursive=False)
        if not isinstance(title, Tag):
            continue
        box.name, title.name = "details", "summary"
        for link in title.find_all("a"):
            link.unwrap()  # a link inside a button does nothing by keyboard
        kept = [str(c) for c in box.get_attribute_list("class")]
        box["class"] = " ".join(c for c in kept if c not in ("toggle", "dropdown"))


def tooltips(soup: BeautifulSoup) -> None:
    """No pop-ups of Bootstrap, and no links that open another window."""
    for element in soup.select("[data-bs-toggle], [data-bs-placement]"):
        for name in ("data-bs-toggle", "data-bs-placement"):
            element.attrs.pop(name, None)
    for link in soup.select(".prev-next-area a[title]"):
        del link["title"]  # it repeats the text
    for link in soup.select('a[target="_blank"]'):
        del link["target"]
    for title in soup.select("p.sidebar-title"):
        if not title.get_text(strip=True):
            title.decompose()


def tables(soup: BeautifulSoup) -> None:
    """A table scrolls in a box of its own, which keys can reach."""
    for table in soup.select("article table"):
        parent = table.parent
        inside = parent.get_attribute_list("class") if isinstance(parent, Tag) else []
        if "table-box" not in inside:
            box = soup.new_tag("div", attrs={"class": "table-box", "tabindex": "0"})
            box["role"], box["aria-label"] = "group", table_name(table)
            table.wrap(box)


def table_name(table: Tag) -> str:
    """What a table is called: its caption, or the heads of its columns."""
    caption = table.find("caption")
    if isinstance(caption, Tag):
        return caption.get_text(" ", strip=True)
    heads = [cell.get_text(" ", strip=True) for cell in table.select("thead th")]
    return "Table: " + ", ".join(head for head in heads if head)
