"""Reads SmolLM2's weights into the arrays of `contextual.model`. Not taught.

A model file stores a matrix as (out, in), one row an output. The chapters write x @ w,
so every matrix is kept as (in, out) here: the same numbers, turned on their side.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextual import gguf

Floats = NDArray[np.float32]

LAYER = {  # our name -> the file's, after "blk.<number>."
    "attention_gain": "attn_norm",
    "w_q": "attn_q",
    "w_k": "attn_k",
    "w_v": "attn_v",
    "w_o": "attn_output",
    "mlp_gain": "ffn_norm",
    "w_gate": "ffn_gate",
    "w_up": "ffn_up",
    "w_down": "ffn_down",
}
SETTINGS = {  # our name -> the file's, and what it must be
    "n_layers": ("llama.block_count", int),
    "n_heads": ("llama.attention.head_count", int),
    "n_kv_heads": ("llama.attention.head_count_kv", int),
    "base": ("llama.rope.freq_base", float),
    "eps": ("llama.attention.layer_norm_rms_epsilon", float),
}


def read_settings(file: gguf.GGUFFile) -> dict[str, Any]:
    """The few numbers that say how the arrays are used, or a ValueError."""
    kind = file.metadata.get("general.architecture")
    if kind != "llama":
        raise ValueError(f"{file.path} holds a model of kind {kind!r}, not 'llama'.")
    missing = [key for key, _ in SETTINGS.values() if key not in file.metadata]
    if missing:
        raise ValueError(f"{file.path} does not say {', '.join(missing)}.")
    return {name: kind(file.metadata[key]) for name, (key, kind) in SETTINGS.items()}


def read_array(file: gguf.GGUFFile, name: str) -> Floats:
    """A tensor as the chapters use it: (C,), or a matrix turned to (in, out)."""
    if name not in file.tensors:
        raise ValueError(f"{file.path} has no tensor {name}.")
    shape = file.tensors[name].shape
    if len(shape) != 2:
        return file.load(name)
    w = np.empty(shape[::-1], np.float32)  # (in, out)
    file.load(name, out=w.T)
    return w


def read_layer(
    file: gguf.GGUFFile, number: int, settings: dict[str, Any]
) -> dict[str, Any]:
    """The nine arrays of one layer and how its heads are cut, by our names."""
    arrays = {
        ours: read_array(file, f"blk.{number}.{theirs}.weight")
        for ours, theirs in LAYER.items()
    }
    heads = ("n_heads", "n_kv_heads", "base", "eps")
    return arrays | {name: settings[name] for name in heads}


def read_weights(
    path: str | os.PathLike[str],
) -> tuple[Floats, list[dict[str, Any]], Floats]:
    """The token table (V, C), the layers, and the last gain (C,)."""
    file = gguf.read(path)
    settings = read_settings(file)
    if "output.weight" in file.tensors:
        raise ValueError(
            f"{file.path} scores tokens with a table of its own, not ours."
        )
    layers = [read_layer(file, n, settings) for n in range(settings["n_layers"])]
    return file.load("token_embd.weight"), layers, file.load("output_norm.weight")
