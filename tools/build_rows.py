"""Write data/smollm2_rows.npz: some rows of SmolLM2's token table, exactly as stored.

    python -m tools.build_rows [model.gguf]

The rows are Q8_0: every 32 numbers share one float16 scale, each number is an int8.
Both are copied as they are, so the floats made from them are the model's own.
It also prints, over *all* rows, the cosines that the chapters compare with.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
from gguf import GGUFReader, dequantize
from numpy.typing import NDArray

from contextual.data import fetch_model, load_glosses, load_tokenizer
from contextual.tokens import BytePairTokenizer
from contextual.vectors import nearest

TARGET = Path(__file__).parents[1] / "data" / "smollm2_rows.npz"
BLOCK = np.dtype([("scale", "<f2"), ("quants", "i1", (32,))])  # Q8_0, 34 bytes
N_RANDOM, N_WORDS, N_PAIRS = 400, 300, 200_000
BANK, N_NEAR = 5461, 15  # the token " bank", and how many of its neighbours to store

# Each word is stored with and without a leading space wherever that is one token.
WORDS = """
cat dog cats dogs democracy king queen man woman prince princess boy girl father mother
river money bank banks blood investment shore water broker nurse fisherman doctor
captain engineer teller officer victim tree trees house houses garden loan boat
The the She she He he It it They they I you we A a An an And and Of of In in On on At at
To to for with by from behind under over was were is are be has had not
sat works worked work walked walk along bites bite bit chased saw said down near
Paris France Italy Rome Berlin Germany London England Spain Madrid
Monday Tuesday Wednesday Thursday Friday Saturday Sunday
January February March April June July December
good bad hot cold warm cool big small bigger smaller large larger happy sad
red blue green yellow black white zebra piano lemon rocket apple orange
0 1 2 3 4 5 6 7 8 9 one two three four five six ten hundred
walking swim swimming run running speak speaking eat eating
car cars bus train road city country school student teacher book word words sentence
music song light sun moon star day night time year table chair door window
food bread milk coffee tea fish bird horse cow
. , ; : ? ! ' " - ( )
"""


def chosen_ids(tokenizer: BytePairTokenizer) -> set[int]:
    """Ids of the WORDS, with and without a space before, that are one token."""
    tries = [
        tokenizer.encode(start + word) for word in WORDS.split() for start in ("", " ")
    ]
    return {ids[0] for ids in tries if len(ids) == 1}


def word_pool(tokenizer: BytePairTokenizer) -> NDArray[np.int64]:
    """Ids below 6,000 of lower-case words: a space and two letters or more.

    A token such as " wh" looks like a word and is the beginning of one. A word here is
    what the stored glosses use five times or more.
    """
    uses = Counter(" ".join(load_glosses()).split())
    texts = [piece.decode("utf-8", "replace") for piece in tokenizer.pieces[:6000]]
    fits = [re.fullmatch(r" [a-z]{2,}", t) and uses[t[1:]] >= 5 for t in texts]
    return np.flatnonzero(np.array(fits, dtype=bool))


def pair_cosines(table: NDArray[np.float32], n_pairs: int) -> tuple[float, float]:
    """Mean and spread of the cosine of random pairs of two different rows."""
    rng = np.random.default_rng(0)
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    left = rng.integers(len(table), size=n_pairs)
    right = (left + rng.integers(1, len(table), size=n_pairs)) % len(table)
    cosines = np.einsum("nd,nd->n", unit[left], unit[right])
    return float(cosines.mean()), float(cosines.std())


def choose_rows(
    tokenizer: BytePairTokenizer, pool: NDArray[np.int64], table: NDArray[np.float32]
) -> dict[str, NDArray[np.int32]]:
    """Which rows are stored: all ids in order, two samples, and bank's neighbours.

    The neighbours are sought among all 49,152 rows, not among those that are stored.
    """
    everything = np.arange(tokenizer.vocab_size)
    near = nearest(table, table[BANK], N_NEAR, exclude=[BANK])
    bank_ids = np.array([row for row, _ in near])
    random_ids = np.random.default_rng(0).choice(everything, N_RANDOM, replace=False)
    word_ids = np.random.default_rng(0).choice(pool, N_WORDS, replace=False)
    chosen = chosen_ids(tokenizer)
    print(f"{len(chosen)} rows are chosen by word")
    samples = [*random_ids.tolist(), *word_ids.tolist(), *bank_ids.tolist()]
    arrays = {
        "ids": np.array(sorted(chosen.union(samples))),
        "random_ids": random_ids,
        "word_ids": word_ids,
        "bank_ids": bank_ids,
    }
    return {name: array.astype(np.int32) for name, array in arrays.items()}


def print_baselines(samples: dict[str, NDArray[np.float32]]) -> None:
    """Mean and spread of the cosine of random pairs, in each table."""
    for name, rows in samples.items():
        mean, spread = pair_cosines(rows, N_PAIRS)
        print(f"cosine of random pairs, {len(rows)} {name}: {mean:.4f} ± {spread:.4f}")


def main(arguments: list[str]) -> None:
    """Choose, copy, write, and print what the chapters compare with."""
    path = Path(arguments[0]) if arguments else fetch_model()
    tensor = next(t for t in GGUFReader(path).tensors if t.name == "token_embd.weight")
    blocks = tensor.data.view(BLOCK)  # (49152, 18)
    table = dequantize(tensor.data, tensor.tensor_type)  # (49152, 576)
    pool = word_pool(load_tokenizer())
    arrays = choose_rows(load_tokenizer(), pool, table)
    ids = arrays["ids"]
    with TARGET.open("wb") as file:
        np.savez_compressed(
            file,
            ids=ids,
            random_ids=arrays["random_ids"],
            word_ids=arrays["word_ids"],
            bank_ids=arrays["bank_ids"],
            scales=blocks["scale"][ids],
            quants=blocks["quants"][ids].reshape(len(ids), -1),
        )
    print(f"{len(ids)} rows are stored in all")
    print(hashlib.sha256(TARGET.read_bytes()).hexdigest(), TARGET.name)

    every = {"rows": table, "rows of lower-case words, id below 6000": table[pool]}
    samples = {name: table[arrays[name]] for name in ("random_ids", "word_ids")}
    print_baselines(every | samples)
    print(f"norm of the mean row: {np.linalg.norm(table.mean(axis=0)):.3f}")


if __name__ == "__main__":
    main(sys.argv[1:])
