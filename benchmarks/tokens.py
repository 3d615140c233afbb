"""Training and encoding, beside the `tokenizers` library and the obvious loop."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate, pairwise

from benchmarks.measure import Row, seconds, side_by_side, times_faster, times_slower
from contextual import data
from contextual.tokens import pre_tokens, train_tokenizer

N_MERGES, N_BYTES = 256, 186_000


def generated_prose(n_bytes: int, n_words: int = 5000, seed: int = 0) -> str:
    """Sentences of WordNet's words, drawn as often as words are in real prose.

    The k-th commonest word has weight 1/(k + 2), Zipf's law. Same seed, same text.
    """
    rng = random.Random(seed)
    uses = Counter(" ".join(data.load_glosses()).split())
    words = [word for word, _ in uses.most_common(n_words)]
    weights = list(accumulate(1 / (rank + 2) for rank in range(len(words))))
    sentences: list[str] = []
    size = 0
    while size < n_bytes:
        chosen = rng.choices(words, cum_weights=weights, k=rng.randint(5, 15))
        sentence = " ".join(chosen).capitalize() + rng.choice([".", ".", "?", ".\n"])
        sentences.append(sentence)
        size += len(sentence) + 1
    return " ".join(sentences)[:n_bytes]


def recount_every_time(text: str, n_merges: int) -> None:
    """The loop everybody writes first: every pair counted anew for every merge."""
    words = Counter(tuple(chunk.encode()) for chunk in pre_tokens(text))
    for new_id in range(256, 256 + n_merges):
        pairs: Counter[tuple[int, int]] = Counter()
        for word, n in words.items():
            for pair in pairwise(word):
                pairs[pair] += n
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        words = Counter({glued(word, best, new_id): n for word, n in words.items()})


def glued(word: tuple[int, ...], pair: tuple[int, int], new_id: int) -> tuple[int, ...]:
    """A word with a pair replaced, from the left."""
    new: list[int] = []
    for i in word:
        if new and (new[-1], i) == pair:
            new[-1] = new_id
        else:
            new.append(i)
    return tuple(new)


def train_with_tokenizers(text: str, n_merges: int) -> None:
    """The same training in Rust: same pre-tokens, same alphabet, same merges asked."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=256 + n_merges,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([text], trainer)


def rows() -> Iterator[Row]:
    """The table's rows on tokens."""
    real = "\n".join(data.load_glosses())
    for kind, text in (
        ("generated prose", generated_prose(N_BYTES)),
        ("WordNet's definitions", real[:N_BYTES]),
    ):
        ours, rust = side_by_side(
            lambda text=text: train_tokenizer(text, N_MERGES),  # type: ignore[misc]
            lambda text=text: train_with_tokenizers(text, N_MERGES),  # type: ignore[misc]
        )
        what = f"train {N_MERGES} merges, {N_BYTES // 1000} kB of {kind}"
        yield times_slower(what, ours, rust, "tokenizers (Rust)", 1)
    loop = seconds(lambda: recount_every_time(real[:N_BYTES], N_MERGES), 1)
    yield times_faster(what, ours, loop, "recounting every time", 10)

    smollm2, megabyte = data.load_tokenizer(), real[2_000_000:3_000_000]
    took = seconds(lambda: smollm2.encode(megabyte))
    speed = len(megabyte.encode()) / 1e6 / took
    yield Row(
        "encode 1 MB of prose, SmolLM2's tokens", f"{took:.3f} s", "(its size)",
        f"{speed:.2f} MB/s", "≥ 1 MB/s", speed >= 1,
    )  # fmt: skip
    word = "".join(random.Random(0).choices("etaoinshrdlu", k=80_000))
    short = seconds(lambda: smollm2.encode(word[:20_000]), 3)
    long = seconds(lambda: smollm2.encode(word), 3)
    what = "encode one word of 80,000 letters"
    yield times_slower(what, long, short, "for 20,000 letters", 6)
