"""The model on our code against `transformers` on torch, from the same file.

Both run on one thread and take turns. Times of forward and generation are processor
time, so that other work on the machine counts less; memory and caches are still shared.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.measure import Row
from contextual.data import fetch_model, load_tokenizer
from contextual.model import Model, continue_ids, load_model

PROMPT = "The capital of France is"
N_TOKENS = 40
REPEATS = 7
# In a fresh process, from its start to the first logits; then the most memory it had.
READY = """
import time
from contextual.model import load_model
model = load_model()
print(time.process_time())
model([504])
try:
    from resource import RUSAGE_SELF, getrusage
    import sys
    print(getrusage(RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024))
except ImportError:
    print(0)
"""


def rows() -> Iterator[Row]:
    """Every line of the table, one after the other; the peers are loaded once."""
    yield from ready_rows()
    ours = load_model()
    peers = {name: load_peer(name) for name in ("eager", "sdpa")}
    for n_tokens in (16, 64, 256):
        for name, peer in peers.items():
            yield forward_row(ours, peer, name, n_tokens)
    yield generation_row(ours, peers["eager"])


def ready_rows() -> list[Row]:
    """Seconds until the model can be called, and the most memory of that process."""
    fetch_model()  # so that the cache is warm
    found = []
    for _ in range(3):
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", READY],
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).resolve().parent.parent,
        )
        wall = time.perf_counter() - start
        busy, peak = (float(line) for line in done.stdout.split())
        found.append((busy, wall, peak))
    busy, wall, peak = (median(column) for column in zip(*found))
    most = peak / 1e6
    return [
        Row(
            "SmolLM2: ready in a new process (processor time)",
            f"{busy:.2f} s",
            f"{wall:.2f} s by the clock, with one token",
            "–",
            "≤ 2.5 s",
            busy <= 2.5,
        ),
        Row(
            "SmolLM2: most memory of that process",
            f"{most:.0f} MB",
            "–",
            "–",
            "≤ 750 MB",
            0 < most <= 750,
        ),
    ]


def load_peer(attention: str) -> Any:
    """`LlamaForCausalLM` in float32 from the same file; takes half a minute."""
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TQDM_DISABLE="1")
    import torch
    from transformers import LlamaForCausalLM

    torch.set_num_threads(1)
    path = fetch_model()
    peer = LlamaForCausalLM.from_pretrained(
        str(path.parent),
        gguf_file=path.name,
        dtype=torch.float32,
        attn_implementation=attention,
    )
    return peer.eval()


def in_turn(
    ours: Callable[[], object], peer: Callable[[], object]
) -> tuple[float, float]:
    """Median processor seconds of both, taken in turn after one call that warms up."""
    calls, times = (ours, peer), ([], [])  # type: ignore[var-annotated]
    for n in range(REPEATS + 1):
        for call, taken in zip(calls, times):
            start = time.process_time()
            call()
            if n:
                taken.append(time.process_time() - start)
    return median(times[0]), median(times[1])


def forward_row(ours: Model, peer: Any, name: str, n_tokens: int) -> Row:
    """All logits of one text."""
    import torch

    ids = np.random.default_rng(0).integers(300, 40_000, n_tokens)
    batch = torch.from_numpy(ids)[None]

    def theirs() -> object:
        with torch.inference_mode():
            return peer(batch).logits

    mine, other = in_turn(lambda: ours(ids), theirs)
    return Row(
        f"SmolLM2: logits of {n_tokens} tokens",
        f"{mine:.3f} s",
        f"{other:.3f} s transformers ({name})",
        f"{mine / other:.2f}×",
        "≤ 1.2×",
        mine <= 1.2 * other,
    )


def generation_row(ours: Model, peer: Any) -> Row:
    """The likeliest tokens after a prompt, with kept keys and values on both sides."""
    import torch

    ids = load_tokenizer().encode(PROMPT)
    batch = torch.tensor([ids])

    def theirs() -> object:
        with torch.inference_mode():
            return peer.generate(
                batch,
                attention_mask=torch.ones_like(batch),
                min_new_tokens=N_TOKENS,
                max_new_tokens=N_TOKENS,
                do_sample=False,
                pad_token_id=0,
            )

    mine, other = in_turn(
        lambda: list(continue_ids(ours, ids, N_TOKENS, stop=())), theirs
    )
    return Row(
        f"SmolLM2: {N_TOKENS} tokens after a prompt",
        f"{N_TOKENS / mine:.1f} tokens/s",
        f"{N_TOKENS / other:.1f} tokens/s transformers (eager)",
        f"{other / mine:.2f}× faster",
        "≥ 1.3× faster",
        other >= 1.3 * mine,
    )
