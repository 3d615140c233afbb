"""One style sheet for the book: the theme's rules that match something, then ours.

A selector is kept if every tag, class, id and attribute it names occurs in some page,
or is set by site.js later. What stands inside :is(), :not() and the like is not judged.
"""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tinycss2  # type: ignore[import-untyped]

VENDOR = Path(__file__).parent / "vendor"
THEME = ("basic.css", "styles/pydata-sphinx-theme.css")
SKIP = re.compile(r"thebe|copybutton|togglebutton|tabs|^https?:")
LATER: tuple[str, ...] = (
    "active",
    "hide",
    "pst-sidebar-hidden",
    "highlighted",
    "search",
    "show",
)
LATER += ("search-summary", "context")  # classes that scripts set
ALWAYS_DATA = ("data-theme", "data-mode")


@dataclass
class Used:
    """What the pages hold: names as CSS writes them, style attributes, formulas."""

    names: set[str] = field(default_factory=lambda: {"." + c for c in LATER})
    styles: set[str] = field(default_factory=set)
    math: set[str] = field(default_factory=set)


def used_by(pages: Iterable[str]) -> Used:
    """Every tag, class, id and attribute of the pages."""
    used = Used()
    for page in pages:
        for tag, attributes in re.findall(r"<([a-zA-Z][\w-]*)((?:\s+[^<>]*)?)>", page):
            used.names.add(tag.lower())
            for name, value in re.findall(r'([\w:-]+)="([^"]*)"', attributes):
                note(used, name, html.unescape(value))
        for formula in re.findall(r"<math.*?</math>", page, re.S):
            used.math.update(html.unescape(re.sub(r"<[^>]+>", "", formula)))
    return used


def note(used: Used, name: str, value: str) -> None:
    used.names.add("@" + name)
    if name == "class":
        used.names.update("." + part for part in value.split())
    elif name == "id":
        used.names.add("#" + value)
    elif name == "data-style":
        used.styles.add(value)


def matches(selector: list[Any], names: set[str]) -> bool:
    """Whether a selector (tinycss2 tokens) can match something in the pages."""
    before = None
    for token in selector:
        if token.type == "ident" and before == ".":
            if "." + token.value not in names:
                return False
        elif token.type == "ident" and before != ":":
            if token.value.lower() not in names | {"from", "to"}:
                return False
        elif token.type == "hash":
            if "#" + token.value not in names:
                return False
        elif token.type == "[] block" and not has_attribute(token, names):
            return False
        before = token.value if token.type == "literal" else None
    return True


def has_attribute(block: Any, names: set[str]) -> bool:
    """Whether some page has the data attribute that [data-…] asks for."""
    first = next((t.value for t in block.content if t.type == "ident"), "")
    if first.startswith("data-bs"):
        return False
    return not first.startswith("data-") or first in ALWAYS_DATA or "@" + first in names


def parts(prelude: Iterable[Any]) -> Iterator[list[Any]]:
    """The selectors of a rule, cut at its commas."""
    part: list[Any] = []
    for token in prelude:
        if token.type == "literal" and token.value == ",":
            yield part
            part = []
        else:
            part.append(token)
    yield part


def purged(rules: Iterable[Any], names: set[str], url: Callable[[str], str]) -> str:
    """The rules that can match, as text; `url` rewrites addresses of files."""
    out = []
    for rule in rules:
        if rule.type == "qualified-rule":
            kept = [p for p in parts(rule.prelude) if matches(p, names)]
            if kept:
                heads = ",".join(tinycss2.serialize(p).strip() for p in kept)
                out.append(f"{heads}{{{declarations(rule.content, url)}}}")
        elif rule.type == "at-rule" and rule.content is not None:
            out.append(at_rule(rule, names, url))
    return "".join(out)


def at_rule(rule: Any, names: set[str], url: Callable[[str], str]) -> str:
    """@media and @supports are purged inside; others are kept whole."""
    head = f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}"
    if rule.lower_at_keyword in ("media", "supports"):
        inner = tinycss2.parse_rule_list(rule.content, True, True)
        body = purged(inner, names, url)
        return f"{head}{{{body}}}" if body else ""
    return f"{head}{{{declarations(rule.content, url)}}}"


def declarations(content: Any, url: Callable[[str], str]) -> str:
    """What stands between the braces, without comments, addresses rewritten."""
    text = re.sub(r"/\*.*?\*/", "", tinycss2.serialize(content), flags=re.S)
    address = r'url\(\s*(["\']?)(?!data:)([^"\')]+)\1\s*\)'
    text = re.sub(address, lambda m: f"url({url(m[2])})", text)
    return re.sub(r"\s*\n\s*", " ", text).strip().rstrip(";")


def theme_sheet(static: Path, names: list[str], used: Used) -> str:
    """The files of the theme and the extensions, in order, as one text."""
    out = []
    for name in dict.fromkeys([*THEME, *names]):
        path = static / name
        if SKIP.search(name) or not path.exists():
            continue
        folder = posixpath.dirname(name)
        rules = tinycss2.parse_stylesheet(path.read_text("utf-8"), True, True)
        here = lambda u, f=folder: posixpath.normpath(posixpath.join(f, u))  # noqa: E731
        out.append(purged(rules, used.names, here))
    if used.math:
        text = (VENDOR / "Temml-Latin-Modern.css").read_text(encoding="utf-8")
        text = text.replace("./latinmodernmath.woff2", "math.woff2")
        out.append(purged(tinycss2.parse_stylesheet(text, True, True), used.names, str))
    return "".join(out)


def without_unused_variables(css: str, also_read: str) -> str:
    """Drop custom properties that nobody reads, until none is left to drop."""
    while True:
        read = set(re.findall(r"var\(\s*(--[\w-]+)", css + also_read))
        new = re.sub(r"[^{}]*\{\s*\}", "", only_read(css, read))
        if new == css:
            return css
        css = new


def only_read(css: str, read: set[str]) -> str:
    """A style sheet with those custom properties alone that are in `read`."""
    own = r"(?<=[{;\s])(--[\w-]+)\s*:((?:\"[^\"]*\"|[^;{}\"])*)(;|(?=\}))"
    return re.sub(own, lambda match: match[0] if match[1] in read else "", css)


def style_rules(styles: Iterable[str]) -> str:
    """A rule for every style attribute that the policy moved out of a page."""
    rules = []
    for style in sorted(styles):
        quoted = style.replace("\\", "\\\\").replace('"', '\\"')
        body = style.replace(";", "!important;")
        rules.append(f'[data-style="{quoted}"]{{{body}!important}}\n')
    return "".join(rules)
