"""Formulas as MathML, made while the book is built: nothing is left to do in the page.

Temml runs inside V8 (the package mini-racer): no Node, no MathJax, no script in the
page. A formula that Temml cannot read is a warning, and so fails the build.
"""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

log = logging.getLogger(__name__)
SCRIPT = Path(__file__).parent / "vendor" / "temml.min.js"
NUMBERED = re.compile(r"\\(begin|end)\{(align|alignat|equation|gather|multline)\}")


@functools.cache
def engine() -> Any:
    """V8 with Temml in it, started once a build."""
    from py_mini_racer import MiniRacer

    context = MiniRacer()
    context.eval(SCRIPT.read_text(encoding="utf-8"))
    return context


@functools.cache
def to_mathml(tex: str, display: bool) -> str:
    """One formula as a <math> element. ValueError names what TeX does not know."""
    tex = NUMBERED.sub(r"\\\1{\2*}", tex)  # Sphinx numbers equations, not TeX
    options = {"displayMode": display, "throwOnError": True}
    call = f"temml.renderToString({json.dumps(tex)}, {json.dumps(options)})"
    try:
        return str(engine().eval(call))
    except Exception as error:  # mini-racer has no public class for a script's error
        raise ValueError(str(error).strip().splitlines()[0]) from None


def render(writer: HTML5Translator, node: nodes.Element, display: bool) -> str:
    """MathML, or after a warning the formula as code."""
    tex = node.astext()
    try:
        return to_mathml(tex, display)
    except ValueError as error:
        log.warning("formula %s: %s", tex, error, location=node, type="math")
        return f"<code>{writer.encode(tex)}</code>"


def inline(writer: HTML5Translator, node: nodes.Element) -> None:
    writer.body.append(render(writer, node, display=False))
    raise nodes.SkipNode


def block(writer: HTML5Translator, node: nodes.Element) -> None:
    writer.body.append(writer.starttag(node, "div", CLASS="math"))
    if node.get("number"):
        writer.body.append(f'<span class="eqno">({node["number"]})')
        writer.add_permalink_ref(node, "Link to this equation")
        writer.body.append("</span>")
    writer.body.append(render(writer, node, display=True) + "</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("temml", (inline, None), (block, None))
