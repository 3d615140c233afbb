"""Write data/smollm2_head.npz: the queries and keys of one head on one sentence.

    python -m tools.build_head [model.gguf]

Layer 16, head 0 of SmolLM2 reads the word before. Its queries and keys are stored as
they are before they are turned by their places, so that the chapter on positions can
turn them itself, to any place.
"""

from __future__ import annotations

import hashlib
import sys
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contextual import gguf
from contextual.attention import share_heads, split_heads
from contextual.data import fetch_model, load_tokenizer
from contextual.model import Layer, Model, rms_norm, walk
from contextual.weights import read_weights

TARGET = Path(__file__).parents[1] / "data" / "smollm2_head.npz"
SENTENCE, LAYER, HEAD = "The fisherman sat on the river bank", 16, 0


def queries_and_keys(
    model: Model, token_ids: list[int], layer_number: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Every head's queries and keys before `rotate`, each (n_heads, T, d_head)."""
    layer = model.layers[layer_number]
    (step,) = islice(walk(model, token_ids), layer_number, layer_number + 1)
    normed = rms_norm(step.x, layer.attention_gain, layer.eps)
    q = split_heads(normed @ layer.w_q, layer.n_heads)
    k = split_heads(normed @ layer.w_k, layer.n_kv_heads)
    return q, share_heads(k, layer.n_heads)


def main(arguments: list[str]) -> None:
    """Run the model up to the layer, copy one head's arrays, write, say the sum."""
    path = Path(arguments[0]) if arguments else fetch_model()
    table, layers, gain = read_weights(path)
    model = Model(table, [Layer(**layer) for layer in layers], gain)
    token_ids = load_tokenizer().encode(SENTENCE)
    q, k = queries_and_keys(model, token_ids, LAYER)
    with TARGET.open("wb") as file:
        np.savez_compressed(
            file,
            token_ids=np.array(token_ids, np.int32),
            q=q[HEAD].astype(np.float32),
            k=k[HEAD].astype(np.float32),
            layer=np.int32(LAYER),
            head=np.int32(HEAD),
            base=np.float64(model.layers[LAYER].base),
            longest=np.int32(gguf.read(path).metadata["llama.context_length"]),
        )
    print(hashlib.sha256(TARGET.read_bytes()).hexdigest(), TARGET.name)


if __name__ == "__main__":
    main(sys.argv[1:])
