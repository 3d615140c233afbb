"""Write data/smollm2_attention.npz: attention weights, every head, five texts.

    python -m tools.build_heads

The weights are what `model.attention_weights` computes, in thousandths; each row is
rounded so that it is 1000 in sum. Six heads get a name and a score: what they do on
average on texts that have nothing to do with the five.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextual.data import load_glosses, load_rows, load_tokenizer
from contextual.model import Model, load_model

TARGET = Path(__file__).parents[1] / "data" / "smollm2_attention.npz"
TEXTS = [
    "blue zebra piano lemon rocket blue zebra piano lemon rocket",
    "She walked along the river and sat down on the bank",
    "The fisherman sat on the river bank",
    "The broker works at the investment bank",
    "The dog bites the man. The victim was the",
]
KNOWN = {  # name: (layer, head)
    "induction": (18, 6),
    "previous word": (16, 0),
    "first-word sink": (18, 8),
    "itself": (11, 6),
    "same word": (14, 3),
    "spread out": (0, 1),
}
N_GLOSSES, N_LISTS, N_WORDS = 60, 40, 8
Floats = NDArray[np.floating]


def thousandths(weights: Floats) -> NDArray[np.int64]:
    """Rows (…, T) of weights as whole thousandths that are 1000 in sum.

    Rounded down; what is missing goes to the largest remainders.
    """
    exact = 1000 * weights / weights.sum(axis=-1, keepdims=True)
    whole = np.floor(exact)
    missing = (1000 - whole.sum(axis=-1, keepdims=True)).astype(int)
    rank = np.argsort(np.argsort(whole - exact, axis=-1, kind="stable"), axis=-1)
    return (whole + (rank < missing)).astype(np.int64)


def lower_triangles(weights: Floats) -> NDArray[np.uint16]:
    """(30, 9, T, T) as (270, T(T+1)/2) thousandths: above the diagonal all is 0."""
    n_tokens = weights.shape[-1]
    whole = thousandths(weights.astype(np.float64)).reshape(-1, n_tokens, n_tokens)
    assert not whole[:, ~np.tri(n_tokens, dtype=bool)].any()
    return whole[:, *np.tril_indices(n_tokens)].astype(np.uint16)


def gloss_texts() -> Iterator[list[int]]:
    """Sixty definitions of 8 to 16 tokens, drawn at random."""
    tokenizer, glosses = load_tokenizer(), load_glosses()
    order = np.random.default_rng(0).permutation(len(glosses))
    texts = (tokenizer.encode(glosses[i]) for i in order)
    fitting = (ids for ids in texts if 8 <= len(ids) <= 16)
    return (ids for ids, _ in zip(fitting, range(N_GLOSSES)))


def word_lists() -> Iterator[NDArray[np.int64]]:
    """Forty lists of eight random words, each list twice over."""
    rng, pool = np.random.default_rng(1), load_rows().word_ids
    for _ in range(N_LISTS):
        words = rng.choice(pool, N_WORDS, replace=False)
        yield np.concatenate([words, words])


def gloss_scores(model: Model) -> dict[str, Floats]:
    """Mean weight (30, 9) on the word before, on the first, on itself; and evenness.

    From the third word on. Evenness: the entropy of a row over that of equal weights.
    """
    found: dict[str, list[Floats]] = {"previous word": [], "first-word sink": []}
    found |= {"itself": [], "spread out": []}
    for ids in gloss_texts():
        weights, at = model.attention_weights(ids), np.arange(2, len(ids))
        found["previous word"].append(weights[:, :, at, at - 1])
        found["first-word sink"].append(weights[:, :, at, 0])
        found["itself"].append(weights[:, :, at, at])
        entropy = -(weights * np.log(np.maximum(weights, 1e-30))).sum(axis=-1)
        found["spread out"].append(entropy[:, :, at] / np.log(at + 1))
    return {k: np.concatenate(v, axis=-1).mean(axis=-1) for k, v in found.items()}


def list_scores(model: Model) -> dict[str, Floats]:
    """Mean weight (30, 9), second time round, on what came next, and on the same."""
    found: dict[str, list[Floats]] = {"induction": [], "same word": []}
    for ids in word_lists():
        weights, at = model.attention_weights(ids), np.arange(N_WORDS, 2 * N_WORDS - 1)
        found["induction"].append(weights[:, :, at, at - N_WORDS + 1])
        found["same word"].append(weights[:, :, at, at - N_WORDS])
    return {k: np.concatenate(v, axis=-1).mean(axis=-1) for k, v in found.items()}


def print_scores(scores: dict[str, Floats]) -> None:
    """The score of each named head, and which heads score highest."""
    for name, place in KNOWN.items():
        best = np.argsort(-scores[name], axis=None)[:4]
        heads = [divmod(int(head), 9) for head in best]
        listed = ", ".join(f"{head} {scores[name][head]:.3f}" for head in heads)
        print(f"{name} {place}: {scores[name][place]:.3f}; highest: {listed}")


def main() -> None:
    """Compute, write, and print the scores and the checksum."""
    model, tokenizer = load_model(), load_tokenizer()
    scores = gloss_scores(model) | list_scores(model)
    weights = [model.attention_weights(tokenizer.encode(text)) for text in TEXTS]
    arrays: dict[str, Any] = {
        f"weights_{i}": lower_triangles(w) for i, w in enumerate(weights)
    }
    with TARGET.open("wb") as file:
        np.savez_compressed(
            file,
            texts=np.array(TEXTS),
            names=np.array(list(KNOWN)),
            places=np.array(list(KNOWN.values())),
            scores=np.array([scores[name][place] for name, place in KNOWN.items()]),
            **arrays,
        )
    print_scores(scores)
    print(hashlib.sha256(TARGET.read_bytes()).hexdigest(), TARGET.name)


if __name__ == "__main__":
    main()
