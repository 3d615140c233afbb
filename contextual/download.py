"""Fetches the model once and keeps it in the user's cache folder. Not taught."""

from __future__ import annotations

from pathlib import Path


def fetch_model() -> Path:
    """Path of the model file."""
    raise RuntimeError("fetch_model is not written yet.")
