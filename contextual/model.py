"""A real language model from the kept functions, taught in the chapters on context.

The Llama architecture (Touvron et al. 2023) with the weights of SmolLM2-135M (Ben Allal
et al. 2025): nothing here is new but the norm, the feed-forward layer and the order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contextual import data, inputs
from contextual.attention import (
    attention,
    merge_heads,
    share_heads,
    softmax,
    split_heads,
)
from contextual.embedding import lookup
from contextual.masking import causal_mask
from contextual.position import rotate
from contextual.tokens import BytePairTokenizer
from contextual.weights import read_weights

Floats = NDArray[np.floating[Any]]
KeysValues = tuple[Floats, Floats]
LONGEST_WEIGHTS = 512  # tokens: 270 tables of 512 × 512 weights take 283 MB


@dataclass(frozen=True, eq=False)
class Layer:
    """The arrays of one layer, matrices as (in, out), and how its heads are cut."""

    attention_gain: Floats  # (C,)
    w_q: Floats  # (C, H · d_head)
    w_k: Floats  # (C, n_kv_heads · d_head)
    w_v: Floats  # (C, n_kv_heads · d_head)
    w_o: Floats  # (H · d_head, C)
    mlp_gain: Floats  # (C,)
    w_gate: Floats  # (C, d_ff)
    w_up: Floats  # (C, d_ff)
    w_down: Floats  # (d_ff, C)
    n_heads: int
    n_kv_heads: int
    base: float
    eps: float


def rms_norm(x: ArrayLike, gain: ArrayLike, eps: float = 1e-5) -> Floats:
    """Bring every vector to the same size: 1 in mean square, then times the gain.

    x (…, C), gain (C,). Returns (…, C). eps keeps a vector of zeros from 0/0.
    Source: Zhang and Sennrich 2019.
    """
    x, gain = inputs.as_vectors(x, gain)
    mean_square = np.vecdot(x, x)[..., None] / x.shape[-1]  # (…, 1)
    return x / np.sqrt(mean_square + x.dtype.type(eps)) * gain


def swiglu(x: Floats, w_gate: Floats, w_up: Floats, w_down: Floats) -> Floats:
    """The feed-forward layer: each word by itself, up to d_ff numbers and back to C.

    x (…, C), w_gate and w_up (C, d_ff), w_down (d_ff, C). Returns (…, C).
    A gate times its own sigmoid lets a number through or not. Source: Shazeer 2020.
    """
    gate = x @ w_gate  # (…, d_ff)
    with np.errstate(over="ignore"):  # exp of a large number is inf, and gate/inf is 0
        gate = gate / (1 + np.exp(-gate))
    return (gate * (x @ w_up)) @ w_down  # (…, C)


def self_attention(
    x: Floats,
    layer: Layer,
    positions: NDArray[Any],
    mask: NDArray[np.bool_],
    past: KeysValues | None = None,
) -> tuple[Floats, Floats, KeysValues]:
    """Words read their neighbours: q and k turned by position, v as it is.

    x (…, T, C); positions (…, 1, T) or (T,); mask (…, 1, T, S) or (T, S).
    past: keys and values of earlier words, each (…, n_kv_heads, S − T, d_head).
    Returns the update (…, T, C), weights (…, H, T, S), and keys and values (S words).
    """
    q = split_heads(x @ layer.w_q, layer.n_heads)  # (…, H, T, d_head)
    k = split_heads(x @ layer.w_k, layer.n_kv_heads)  # (…, n_kv_heads, T, d_head)
    v = split_heads(x @ layer.w_v, layer.n_kv_heads)
    q, k = rotate(q, positions, layer.base), rotate(k, positions, layer.base)
    if past is not None:
        k = np.concatenate([past[0], k], axis=-2)  # (…, n_kv_heads, S, d_head)
        v = np.concatenate([past[1], v], axis=-2)
    every_k, every_v = share_heads(k, layer.n_heads), share_heads(v, layer.n_heads)
    output, weights = attention(q, every_k, every_v, mask)
    return merge_heads(output) @ layer.w_o, weights, (k, v)


def block(
    x: Floats,
    layer: Layer,
    positions: NDArray[Any],
    mask: NDArray[np.bool_],
    past: KeysValues | None = None,
) -> tuple[Floats, Floats, KeysValues]:
    """One layer: add what the neighbours say, then what the word makes of it.

    Shapes as in `self_attention`; returns the stream (…, T, C), weights, keys, values.
    """
    normed = rms_norm(x, layer.attention_gain, layer.eps)
    update, weights, kept = self_attention(normed, layer, positions, mask, past)
    x = x + update
    normed = rms_norm(x, layer.mlp_gain, layer.eps)
    return x + swiglu(normed, layer.w_gate, layer.w_up, layer.w_down), weights, kept


@dataclass(frozen=True, eq=False)
class Model:
    """A table, layers and a last gain: all that the model has learned.

    table (V, C) gives a token its vector and, at the end, scores the next token.
    """

    table: Floats
    layers: Sequence[Layer]
    final_gain: Floats  # (C,)

    def __call__(
        self,
        token_ids: ArrayLike,
        mask: ArrayLike | None = None,
        positions: ArrayLike | None = None,
    ) -> Floats:
        return forward(self, token_ids, mask, positions)

    def hidden_states(
        self,
        token_ids: ArrayLike,
        mask: ArrayLike | None = None,
        positions: ArrayLike | None = None,
    ) -> Floats:
        steps = walk(self, token_ids, mask, positions)
        return np.stack([step.x for step in steps])  # (n_layers + 1, …, T, C)

    def attention_weights(
        self,
        token_ids: ArrayLike,
        mask: ArrayLike | None = None,
        positions: ArrayLike | None = None,
    ) -> Floats:
        inputs.check_text_length(token_ids, LONGEST_WEIGHTS)
        steps = walk(self, token_ids, mask, positions)
        return np.stack([s.weights for s in steps if s.weights is not None])


@dataclass(frozen=True, eq=False)
class Step:
    """The state after a layer: the stream, and the layer's weights, keys and values."""

    x: Floats  # (…, T, C)
    weights: Floats | None = None  # (…, H, T, S)
    kept: KeysValues | None = None


def walk(
    model: Model,
    token_ids: ArrayLike,
    mask: ArrayLike | None = None,
    positions: ArrayLike | None = None,
    past: Sequence[KeysValues] | None = None,
) -> Iterator[Step]:
    """The stream after 0, 1, 2, … layers. Layer 0 is the lookup: no word read yet.

    token_ids (T,) or (B, T), following the S − T words of `past`. mask: True = may
    look, (T, S) or (B, T, S), causal if None. positions (T,) or (B, T), counted on if
    None.
    """
    n_past = 0 if past is None else past[0][0].shape[-2]
    x = lookup(model.table, token_ids)  # (…, T, C)
    positions, mask = place_and_mask(x.shape, n_past, positions, mask)
    yield Step(x)
    for number, layer in enumerate(model.layers):
        before = None if past is None else past[number]
        x, weights, kept = block(x, layer, positions, mask, before)
        yield Step(x, weights, kept)


def place_and_mask(
    shape: tuple[int, ...],
    n_past: int,
    positions: ArrayLike | None,
    mask: ArrayLike | None,
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Positions and mask of a pass over x of `shape` (…, T, C), ready for the heads.

    What is None is filled in: places after the n_past earlier words, a causal mask.
    """
    seq_len, total = shape[-2], n_past + shape[-2]
    if positions is None:
        positions = np.arange(n_past, total)
    if mask is None:
        mask = causal_mask(total)[n_past:]  # (T, S)
    return inputs.for_heads(positions, mask, shape[:-2], seq_len, total)


def to_logits(model: Model, x: Floats) -> Floats:
    """One score for every token that could come next. x (…, T, C), result (…, T, V).

    The scores are dot products with the rows of the table (Press and Wolf 2017).
    """
    x = rms_norm(x, model.final_gain, model.layers[-1].eps)
    scores = model.table @ np.swapaxes(x, -1, -2)  # (…, V, T): table first is faster
    return np.swapaxes(scores, -1, -2)  # (…, T, V)


def forward(
    model: Model,
    token_ids: ArrayLike,
    mask: ArrayLike | None = None,
    positions: ArrayLike | None = None,
) -> Floats:
    """Logits (T, V) or (B, T, V) for the token after each of the token_ids."""
    for step in walk(model, token_ids, mask, positions):  # noqa: B007
        pass
    return to_logits(model, step.x)


def load_model() -> Model:
    """SmolLM2-135M, from the file that `data.fetch_model` fetches once."""
    table, layers, gain = read_weights(data.fetch_model())
    return Model(table, [Layer(**layer) for layer in layers], gain)


def next_probabilities(
    logits: ArrayLike,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Floats:
    """Probabilities of the next token: sharpen, keep the best, share out again.

    logits (V,), result (V,) in float64. Divided by temperature; then the top_k
    likeliest are kept; of these the fewest that together have top_p. Temperature 0:
    all on the likeliest.
    """
    logits = inputs.as_sampling(logits, temperature, top_k, top_p)
    if temperature == 0:
        return np.eye(1, len(logits), int(logits.argmax()))[0]
    chances = softmax(logits / temperature)
    keep = np.argsort(-chances, kind="stable")[:top_k]
    if top_p is not None:
        share = np.cumsum(chances[keep]) / chances[keep].sum()
        keep = keep[: np.searchsorted(share, top_p) + 1]
    result = np.zeros_like(chances)
    result[keep] = chances[keep] / chances[keep].sum()
    return result


def continue_ids(
    model: Model,
    token_ids: ArrayLike,
    n_tokens: int,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int = 0,
    stop: Collection[int] = (0, 2),
) -> Iterator[int]:
    """Token ids that continue a text, one at a time, until one of `stop` or n_tokens.

    Keys and values of earlier words are kept: a new word is one row of work.
    """
    rng, past, new = np.random.default_rng(seed), None, np.asarray(token_ids)
    for _ in range(inputs.as_size(n_tokens, "n_tokens", at_least=0)):
        steps = [(step.x[-1:], step.kept) for step in walk(model, new, past=past)]
        past = [kept for _, kept in steps if kept is not None]
        logits = to_logits(model, steps[-1][0])[0]  # (V,)
        chances = next_probabilities(logits, temperature, top_k, top_p)
        chosen = int(rng.choice(len(chances), p=chances))
        if chosen in stop:
            return
        yield chosen
        new = np.array([chosen])


def generate(
    model: Model,
    tokenizer: BytePairTokenizer,
    prompt: str,
    n_tokens: int = 20,
    **choices: Any,
) -> str:
    """The text that the model adds to a prompt. choices: as in `continue_ids`."""
    token_ids = inputs.as_prompt(tokenizer.encode(prompt))
    return tokenizer.decode(list(continue_ids(model, token_ids, n_tokens, **choices)))
