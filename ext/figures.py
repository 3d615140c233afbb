"""Figures that follow the page's colours and keep their room while they arrive.

Chapters draw SVG on white. A figure in an <img> follows the colour scheme of the page
around it, so black ink is rewritten as ink that is light on dark pages, and the white
ground is left out.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup, Tag
from sphinx.util import logging

log = logging.getLogger(__name__)
INKS = "000000|1a1a1a|262626"
RULE = (
    "svg{color:#1a1a1a;--pale:#eef1f4;--grey:#5c5c5c}"
    "@media(prefers-color-scheme:dark){"
    "svg{color:#e6e6e6;--pale:#2b3036;--grey:#a9adb2}}"
)
FEWEST_WORDS = 5  # of a sentence that says what a figure shows


def place(soup: BeautifulSoup, context: dict[str, Any], static: Path) -> None:
    """Give every picture its size, its turn to load, and demand its words."""
    for number, image in enumerate(soup.select("article img")):
        check_words(image, context["pagename"])
        name = str(image.get("src", "")).rsplit("/", 1)[-1]
        file = context["image_files"].get(name)
        size = file_size(file) if file is not None and file.exists() else None
        if size and not image.has_attr("width"):
            image["width"], image["height"] = (str(side) for side in size)
        if number:
            image["loading"], image["decoding"] = "lazy", "async"
        if name.endswith(".svg"):
            # the theme leaves pictures of class dark-light as they are on dark pages
            classes = [str(c) for c in image.get_attribute_list("class") if c]
            image["class"] = " ".join([*classes, "adapts", "dark-light"])


def check_words(image: Tag, page: str) -> None:
    """Warn, and so fail the build, where a figure is not put in words."""
    words = str(image.get("alt", ""))
    if words == image.get("src") or len(words.split()) < FEWEST_WORDS:
        message = "figure %s needs a sentence of alt text, not %r"
        log.warning(message, image.get("src"), words, location=page, type="alt")


def file_size(path: Path) -> tuple[int, int] | None:
    """Width and height of a PNG or SVG in CSS pixels, or None."""
    data = path.read_bytes()
    if data[:8] == b"\x89PNG\r\n\x1a\n":
        return struct.unpack(">II", data[16:24])
    tag = re.search(r"<svg[^>]*>", data.decode("utf-8", "ignore"))
    sides = [
        re.search(rf'\b{side}="([\d.]+)(pt|px)?"', tag[0])
        for side in ("width", "height")
        if tag
    ]
    if len(sides) < 2 or not all(sides):
        return None
    pixels = [float(m[1]) * (4 / 3 if m[2] == "pt" else 1) for m in sides if m]
    return round(pixels[0]), round(pixels[1])


def adapt_all(images: Path) -> None:
    """Every figure of the built book; called once all pages are written."""
    for path in sorted(images.glob("*.svg")):
        text = path.read_text(encoding="utf-8")
        path.write_text(adapted(text), encoding="utf-8", newline="\n")


def adapted(svg: str) -> str:
    """A figure by Matplotlib whose ink follows the colour scheme; others unchanged.

    Only plain ink, pale fills and the white ground change: data keep their colours.
    """
    if "Matplotlib" not in svg or RULE in svg:
        return svg
    svg = re.sub(rf"((?:fill|stroke): ?)#(?:{INKS})\b", r"\1currentColor", svg)
    svg = re.sub(r"(fill: ?)#eef1f4\b", r"\1var(--pale)", svg)
    svg = re.sub(r"((?:fill|stroke): ?)#6b6b6b\b", r"\1var(--grey)", svg)
    ground = r'(<g id="patch_[12]">\s*<path [^>]*style="fill: ?)#ffffff'
    svg = re.sub(ground, r"\1none", svg)
    # outlines of letters have no fill of their own: they take the root's
    rule = RULE + "svg{fill:currentColor}"
    return re.sub(r"(<style[^>]*>)", lambda m: m[1] + rule, svg, count=1)
