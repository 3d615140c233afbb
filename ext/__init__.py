"""The book's own Sphinx extension, one module for each thing it does."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from ext import execution, mathml, recall, site, widgets


def own_source() -> str:
    """A short hash of this extension, so that a change of it reads every page again."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("book_extension", own_source(), "env")
    execution.setup(app)
    mathml.setup(app)
    recall.setup(app)
    widgets.setup(app)
    site.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
