"""For the tests and for the chapters as nbval runs them."""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path

# Before anything imports numpy, and for the kernels that nbval starts: small matrices
# are faster on one thread, and sums keep their order.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import hypothesis  # noqa: E402
import pytest  # noqa: E402

ROOT = Path(__file__).resolve().parent

hypothesis.settings.register_profile("book", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "book")


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the book."""
    return ROOT


# Fixtures that load a reference library or the whole model: `make quick` does without.
SLOW = {"reference", "real", "model_file"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark slow tests; without torch (TORCH=no) skip the cells that use it."""
    for item in items:
        if SLOW & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)
    if importlib.util.find_spec("torch"):
        return
    for item in items:
        cell = getattr(item, "cell", None)
        if cell is not None and re.search(r"\btorch\b", cell.source):
            item.add_marker(pytest.mark.skip(reason="torch is not installed"))
