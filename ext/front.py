"""The page for addresses that do not exist."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

from ext.policy import POLICY

# A host sends this file for an unknown address of any depth: nothing in it is relative.
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="There is no page at this address of the book.">
<title>No such page - {title}</title></head>
<body><main><h1>This page is not in the book</h1>
<p>It may have moved to another chapter. Start at the front page, or use the search
there: all pages are listed.</p>
<p><a href="{home}">{title}: the front page</a></p></main></body></html>
"""


def write_404(app: Sphinx) -> None:
    """Write 404.html. Its link leads to the site's root, `/` where none is known."""
    base = app.config.html_baseurl or "/"
    text = PAGE.format(policy=POLICY, title=app.config.project, home=base)
    path = Path(app.outdir) / "404.html"
    path.write_text(text, encoding="utf-8", newline="\n")
