"""The book's own Sphinx extension, one module for each thing it does."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

from ext import execution, mathml, recall, site, widgets


def setup(app: Sphinx) -> dict[str, Any]:
    execution.setup(app)
    mathml.setup(app)
    recall.setup(app)
    widgets.setup(app)
    site.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
