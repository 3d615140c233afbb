"""A light, self-contained site without forking the theme.

Page by page: `page.Bridge`. Once a build: one style sheet, subset fonts, figures that
adapt, and no file that nobody asks for.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sphinx.application import Sphinx
from sphinx.config import Config

from ext import figures, fonts, front, policy, sheet

HERE = Path(__file__).parent
OURS = ("book.css", "recall.css")  # in this order after the theme's, never purged
SEARCH: tuple[str, ...] = ("documentation_options", "doctools", "sphinx_highlight")
SEARCH += ("language_data", "searchtools")
SCRIPTS = {
    "site.js",
    "search.js",
    "widgets-loader.js",
    *(f"{name}.js" for name in SEARCH),
}


def configure(app: Sphinx, config: Config) -> None:
    """Our templates, files and settings; jupyter-book sets its own before."""
    config.template_bridge = "ext.page.Bridge"
    config.templates_path.insert(0, str(HERE / "templates"))
    config.html_static_path.append(str(HERE / "static"))
    config.html_math_renderer = "temml"
    config.html_favicon = None  # the template links ours
    config.html_copy_source = False
    config.html_show_sourcelink = False
    config.html_theme_options.update(
        navbar_persistent=[],
        back_to_top_button=False,
        primary_sidebar_end=[],
        use_fullscreen_button=False,
        use_download_button=False,
    )


def page_context(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], tree: Any
) -> None:
    """What the templates and steps need; of the scripts only a widget's state."""
    kept = [f for f in context["script_files"] if is_widget_state(f)]
    files = sorted(app.env.found_docs)
    chapters = [name for name in files if name.startswith("notebooks/")]
    context.update(script_files=kept, policy=policy.POLICY, chapters=chapters)


def is_widget_state(file: Any) -> bool:
    return "widget-state" in str(getattr(file, "attributes", {}))


def finish(app: Sphinx, error: Exception | None) -> None:
    """Write the style sheet and tidy up, when every page is there."""
    if error or app.builder.format != "html":
        return
    out = Path(app.outdir)
    if not (out / "_static" / sheet.THEME[-1]).exists():
        return  # no page was written: all is in place from the last build
    front.write_404(app)
    pages = [p.read_text("utf-8") for p in sorted(out.rglob("*.html"))]
    write_sheet(app, out / "_static", pages)
    for image in (out / "_images").glob("*"):  # of earlier builds too
        if image.name not in "".join(pages):
            image.unlink()
    figures.adapt_all(out / "_images")
    for name in (".buildinfo", "objects.inv"):
        (out / name).unlink(missing_ok=True)
    shutil.rmtree(out / "_sources", ignore_errors=True)


def write_sheet(app: Sphinx, static: Path, pages: list[str]) -> None:
    """site.css: the theme's rules that match, formulas, ours; then its fonts."""
    used = sheet.used_by(pages)
    files = [str(f.filename).removeprefix("_static/") for f in app.builder._css_files]  # type: ignore[attr-defined]
    theme = sheet.theme_sheet(static, [f for f in files if f not in OURS], used)
    ours = "".join((static / n).read_text("utf-8") for n in OURS if own(static, n))
    theme = sheet.without_unused_variables(theme, ours)
    css = theme + ours + sheet.style_rules(used.styles)
    css = fonts.subset_faces(css, static, "".join(sorted(used.math)))
    embedded = r'url\("?(data:image/svg\+xml[^"]*)"?\)'
    css = re.sub(embedded, lambda m: picture_file(static, m[1]), css)
    (static / "site.css").write_text(css, encoding="utf-8", newline="\n")
    clean(static, css, "".join(pages))


def own(static: Path, name: str) -> bool:
    return (static / name).exists()


def picture_file(static: Path, uri: str) -> str:
    """A picture inside the style sheet becomes a file: the policy allows no data:."""
    svg = unquote(uri.split(",", 1)[1]).replace("\\\n", "")
    name = hashlib.sha256(svg.encode()).hexdigest()[:12] + ".svg"
    (static / name).write_text(svg, encoding="utf-8", newline="\n")
    return f"url({name})"


def clean(static: Path, css: str, pages: str) -> None:
    """Remove what no page and no rule names."""
    for folder in ("styles", "scripts", "vendor", "locales", "images"):
        shutil.rmtree(static / folder, ignore_errors=True)
    for path in sorted(static.iterdir()):
        wanted = path.is_dir() or path.name in SCRIPTS or path.name in css + pages
        if not wanted:
            path.unlink()
    for inner in sorted(p for p in static.iterdir() if p.is_dir()):
        if not any(inner.iterdir()):
            inner.rmdir()


def setup(app: Sphinx) -> None:
    app.connect("config-inited", configure, priority=100)
    app.connect("html-page-context", page_context, priority=990)
    app.connect("build-finished", finish, priority=900)
