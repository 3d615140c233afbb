"""The model: its parts by hand, a small one against loops, the real one against torch.

The last part reads SmolLM2's file twice, here and with `transformers`. Where there is
no file and it cannot be fetched these tests are skipped and say so; with CI=true they
fail instead.
"""

from __future__ import annotations

import functools
import math
import os
import tracemalloc
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contextual import data, model
from contextual.masking import (
    causal_mask,
    left_padding_mask,
    positions_after_padding,
)
from contextual.model import (
    Layer,
    Model,
    block,
    continue_ids,
    generate,
    load_model,
    next_probabilities,
    rms_norm,
    swiglu,
    to_logits,
    walk,
)
from contextual.position import rotate_half_split

# ---- by hand -------------------------------------------------------------------------


def test_rms_norm_divides_by_the_root_of_the_mean_square():
    # mean square of 3, 4 is 12.5
    wanted = [3 / math.sqrt(12.5), 4 / math.sqrt(12.5)]
    np.testing.assert_allclose(rms_norm([3.0, 4.0], [1.0, 1.0], eps=0.0), wanted)


def test_rms_norm_adds_eps_under_the_root_and_multiplies_by_the_gain():
    wanted = [2 * 3 / math.sqrt(13.5), -4 / math.sqrt(13.5)]
    np.testing.assert_allclose(rms_norm([3.0, 4.0], [2.0, -1.0], eps=1.0), wanted)


def test_rms_norm_does_not_subtract_the_mean():
    np.testing.assert_allclose(rms_norm([5.0, 5.0], [1.0, 1.0], eps=0.0), [1.0, 1.0])


def test_rms_norm_leaves_a_vector_of_zeros_at_zero():
    np.testing.assert_array_equal(rms_norm([0.0, 0.0], [1.0, 1.0]), [0.0, 0.0])


def test_rms_norm_brings_every_word_to_mean_square_one_by_itself():
    x = np.random.default_rng(0).normal(size=(2, 3, 8)) * [[[1.0], [10.0], [1000.0]]]
    normed = rms_norm(x, np.ones(8), eps=0.0)
    np.testing.assert_allclose((normed**2).mean(axis=-1), np.ones((2, 3)))


def test_rms_norm_stays_in_float32():
    x = np.ones((2, 4), np.float32)
    assert rms_norm(x, np.ones(4, np.float32)).dtype == np.float32


def test_rms_norm_refuses_a_gain_of_another_width_and_nan():
    with pytest.raises(ValueError, match="last axes must be equally long"):
        rms_norm([1.0, 2.0, 3.0], [1.0, 1.0])
    with pytest.raises(ValueError, match="NaN"):
        rms_norm([1.0, math.nan], [1.0, 1.0])


def test_swiglu_lets_the_gated_number_through_times_its_sigmoid():
    # gate 1·2 = 2, up 3·1 = 3: 2·σ(2)·3, then times 10 and 0.5
    x = np.array([1.0, 2.0])
    w_gate, w_up = np.array([[0.0], [1.0]]), np.array([[3.0], [0.0]])
    inner = 2 / (1 + math.exp(-2)) * 3
    result = swiglu(x, w_gate, w_up, np.array([[10.0, 0.5]]))
    np.testing.assert_allclose(result, [10 * inner, 0.5 * inner])


def test_swiglu_closes_a_gate_far_below_zero_without_a_warning():
    one = np.ones((1, 1), np.float32)
    for far in (np.float32(-100), np.float32(-1e4)):  # exp(1e4) is no float
        assert abs(swiglu(np.array([1.0], np.float32), far * one, one, one)[0]) < 1e-30


LOGITS = np.log([0.5, 0.25, 0.125, 0.125])


@pytest.mark.parametrize(
    ("choices", "wanted"),
    [
        ({}, [0.5, 0.25, 0.125, 0.125]),
        ({"temperature": 0.5}, np.array([16, 4, 1, 1]) / 22),  # squared
        ({"temperature": 0}, [1, 0, 0, 0]),
        ({"top_k": 1}, [1, 0, 0, 0]),
        ({"top_k": 2}, [2 / 3, 1 / 3, 0, 0]),
        ({"top_k": 99}, [0.5, 0.25, 0.125, 0.125]),
        ({"top_p": 0.49}, [1, 0, 0, 0]),
        ({"top_p": 0.51}, [2 / 3, 1 / 3, 0, 0]),  # the one that reaches top_p is kept
        ({"top_p": 1.0}, [0.5, 0.25, 0.125, 0.125]),
        ({"top_p": 1e-9}, [1, 0, 0, 0]),  # never none
        # of the two best the first has 2/3 already: top_k counts before top_p
        ({"top_k": 2, "top_p": 0.6}, [1, 0, 0, 0]),
        # sharpened first: the first has 16/22 = .73
        ({"temperature": 0.5, "top_p": 0.7}, [1, 0, 0, 0]),
    ],
)
def test_next_probabilities_by_hand(choices, wanted):
    result = next_probabilities(LOGITS, **choices)
    np.testing.assert_allclose(result, wanted, atol=1e-15)


def test_next_probabilities_finds_the_best_wherever_they_stand():
    result = next_probabilities(np.log([0.1, 0.2, 0.4, 0.3]), top_k=2)
    np.testing.assert_allclose(result, [0, 0, 4 / 7, 3 / 7], atol=1e-15)


def test_next_probabilities_gives_a_tie_to_the_smaller_ids():
    tie = np.zeros(4)
    assert next_probabilities(tie, temperature=0).tolist() == [1, 0, 0, 0]
    assert next_probabilities(tie, top_k=2).tolist() == [0.5, 0.5, 0, 0]
    assert next_probabilities(tie, top_p=0.6).tolist() == pytest.approx(
        [1 / 3, 1 / 3, 1 / 3, 0]
    )


def test_next_probabilities_of_float32_logits_sum_to_one_in_float64():
    logits = np.random.default_rng(1).normal(size=49_152).astype(np.float32) * 5
    chances = next_probabilities(logits, temperature=0.7)
    assert chances.dtype == np.float64
    assert chances.sum() == pytest.approx(1.0, abs=1e-12)  # numpy's choice wants 1e-8


@pytest.mark.parametrize(
    ("logits", "choices", "message"),
    [
        ([1.0, 2.0], {"temperature": -1}, "temperature must be 0 or more, not -1"),
        ([1.0, 2.0], {"temperature": math.nan}, "temperature must be 0 or more"),
        ([1.0, 2.0], {"temperature": "hot"}, "temperature must be 0 or more"),
        ([1.0, 2.0], {"top_k": 0}, "top_k must be at least 1, not 0"),
        ([1.0, 2.0], {"top_k": 1.5}, "top_k must be a whole number"),
        ([1.0, 2.0], {"top_p": 0}, "top_p must be above 0 and at most 1, not 0"),
        ([1.0, 2.0], {"top_p": 1.1}, "top_p must be above 0 and at most 1, not 1.1"),
        ([1.0, math.nan], {}, "NaN or infinity"),
        ([[1.0, 2.0]], {}, "one place"),
    ],
)
def test_next_probabilities_refuses_with_a_sentence(logits, choices, message):
    with pytest.raises(ValueError, match=message):
        next_probabilities(logits, **choices)


# ---- a small model -------------------------------------------------------------------

VOCAB, WIDTH, HEADS, KV_HEADS, INNER = 11, 16, 4, 2, 24


def small_layer(rng: np.random.Generator) -> Layer:
    def matrix(rows: int, columns: int) -> Any:
        return rng.normal(size=(rows, columns)) / math.sqrt(rows)

    d_kv = WIDTH // HEADS * KV_HEADS
    return Layer(
        attention_gain=rng.uniform(0.5, 1.5, WIDTH),
        w_q=2 * matrix(WIDTH, WIDTH),
        w_k=2 * matrix(WIDTH, d_kv),
        w_v=matrix(WIDTH, d_kv),
        w_o=matrix(WIDTH, WIDTH),
        mlp_gain=rng.uniform(0.5, 1.5, WIDTH),
        w_gate=matrix(WIDTH, INNER),
        w_up=matrix(WIDTH, INNER),
        w_down=matrix(INNER, WIDTH),
        n_heads=HEADS,
        n_kv_heads=KV_HEADS,
        base=100.0,
        eps=0.1,  # large, so that it is seen
    )


@pytest.fixture(scope="module")
def small() -> Model:
    rng = np.random.default_rng(7)
    table = rng.normal(size=(VOCAB, WIDTH))
    layers = [small_layer(rng) for _ in range(2)]
    return Model(table, layers, rng.uniform(0.5, 1.5, WIDTH))


@pytest.fixture(scope="module")
def ids() -> Any:
    return np.random.default_rng(8).integers(0, VOCAB, 9)


def norm_of(word, gain, eps):
    mean = sum(float(n) ** 2 for n in word) / len(word)
    return [float(n) / math.sqrt(mean + eps) * float(g) for n, g in zip(word, gain)]


def times(word, matrix):
    rows, columns = matrix.shape
    return [
        sum(word[r] * float(matrix[r, c]) for r in range(rows)) for c in range(columns)
    ]


def turned(head, place, base):
    """RoPE with complex numbers: a pair (2i, 2i+1) is a number times e^(i·angle)."""
    out = []
    for pair in range(len(head) // 2):
        angle = place * base ** (-2 * pair / len(head))
        hand = complex(head[2 * pair], head[2 * pair + 1]) * complex(
            math.cos(angle), math.sin(angle)
        )
        out += [hand.real, hand.imag]
    return out


def block_by_loops(x, layer):
    """One layer of one text, word by word and head by head, in plain Python."""
    size = WIDTH // HEADS
    normed = [norm_of(word, layer.attention_gain, layer.eps) for word in x]

    def cut(word, matrix, head):
        return times(word, matrix)[head * size : (head + 1) * size]

    out, all_weights = [], np.zeros((HEADS, len(x), len(x)))
    for t, word in enumerate(x):
        mixed = []
        for head in range(HEADS):
            shared = head * KV_HEADS // HEADS  # heads 0 and 1 read 0, 2 and 3 read 1
            query = turned(cut(normed[t], layer.w_q, head), t, layer.base)
            scores, values = [], []
            for s in range(t + 1):
                key = turned(cut(normed[s], layer.w_k, shared), s, layer.base)
                score = sum(a * b for a, b in zip(query, key)) / math.sqrt(size)
                scores.append(math.exp(score))
                values.append(cut(normed[s], layer.w_v, shared))
            weights = [score / sum(scores) for score in scores]
            all_weights[head, t, : t + 1] = weights
            mixed += [
                sum(w * v[i] for w, v in zip(weights, values)) for i in range(size)
            ]
        middle = [float(a) + b for a, b in zip(word, times(mixed, layer.w_o))]
        fed = norm_of(middle, layer.mlp_gain, layer.eps)
        gate, up = times(fed, layer.w_gate), times(fed, layer.w_up)
        inner = [g / (1 + math.exp(-g)) * u for g, u in zip(gate, up)]
        out.append([a + b for a, b in zip(middle, times(inner, layer.w_down))])
    return np.array(out), all_weights


def test_two_blocks_and_the_logits_equal_plain_loops(small, ids):
    x = [small.table[i] for i in ids]
    states, weights = [np.array(x)], []
    for layer in small.layers:
        x, seen = block_by_loops(x, layer)
        states.append(x)
        weights.append(seen)
    last = [norm_of(word, small.final_gain, small.layers[-1].eps) for word in x]
    logits = [[float(np.dot(word, row)) for row in small.table] for word in last]
    # float64 sums in two orders
    np.testing.assert_allclose(small.hidden_states(ids), states, atol=1e-12)
    np.testing.assert_allclose(small.attention_weights(ids), weights, atol=1e-12)
    np.testing.assert_allclose(small(ids), logits, atol=1e-12)


def test_hidden_states_begin_with_the_rows_of_the_table(small, ids):
    states = small.hidden_states(ids)
    assert states.shape == (3, 9, WIDTH)
    np.testing.assert_array_equal(states[0], small.table[ids])


def test_the_last_hidden_state_is_before_the_final_norm(small, ids):
    last = small.hidden_states(ids)[-1]
    normed = rms_norm(last, small.final_gain, small.layers[-1].eps)
    np.testing.assert_allclose(small(ids), normed @ small.table.T, rtol=1e-12)


def test_a_block_keeps_turned_keys_and_unturned_values(small, ids):
    layer = small.layers[0]
    x = small.table[ids]
    _, _, (k, v) = block(x, layer, np.arange(9), causal_mask(9))
    normed = [norm_of(word, layer.attention_gain, layer.eps) for word in x]
    for t, word in enumerate(normed):
        key, value = times(word, layer.w_k), times(word, layer.w_v)
        for head, at in ((0, slice(0, 4)), (1, slice(4, 8))):
            np.testing.assert_allclose(k[head, t], turned(key[at], t, 100.0))
            np.testing.assert_allclose(v[head, t], value[at])


def decode(some: Model, ids: Any, n_prompt: int, step: int = 1) -> Any:
    """Logits of all words: the prompt at once, the others `step` by `step`."""
    past, logits = None, []
    ends = [n_prompt, *range(n_prompt + step, len(ids) + step, step)]
    start = 0
    for end in ends:
        steps = list(walk(some, ids[start:end], past=past))
        past = [s.kept for s in steps[1:]]
        logits.append(to_logits(some, steps[-1].x))
        start = end
    return np.concatenate(logits)


@pytest.mark.parametrize("n_prompt", [1, 2, 7])
@pytest.mark.parametrize("step", [1, 2])
def test_a_cached_decode_equals_the_full_pass(small, ids, n_prompt, step):
    result = decode(small, ids, n_prompt, step)
    np.testing.assert_allclose(result, small(ids), atol=1e-12)


def left_padded(texts, filler=3):
    lengths = np.array([len(text) for text in texts])
    width = int(lengths.max())
    batch = np.full((len(texts), width), filler)
    for row, text in zip(batch, texts):
        row[width - len(text) :] = text
    mask = causal_mask(width) & left_padding_mask(lengths, width)
    return batch, mask, positions_after_padding(lengths, width)


def test_filler_on_the_left_changes_nothing(small, ids):
    texts = [ids[:9], ids[2:6], ids[5:6]]
    batch, mask, positions = left_padded(texts)
    logits = small(batch, mask, positions)
    states = small.hidden_states(batch, mask, positions)
    for row, text in enumerate(texts):
        at = slice(9 - len(text), 9)
        np.testing.assert_allclose(logits[row, at], small(text), atol=1e-12)
        wanted = small.hidden_states(text)
        np.testing.assert_allclose(states[:, row, at], wanted, atol=1e-12)


def test_filler_is_read_by_no_real_word(small, ids):
    batch, mask, positions = left_padded([ids, ids[:4]])
    weights = small.attention_weights(batch, mask, positions)
    assert weights.shape == (2, 2, HEADS, 9, 9)
    assert not weights[:, 1, :, :, :5].any()
    wanted = small.attention_weights(ids[:4])
    np.testing.assert_allclose(weights[:, 1, :, 5:, 5:], wanted, atol=1e-12)


def test_a_cached_decode_of_a_left_padded_batch_equals_each_text_alone(small, ids):
    texts = [ids[:5], ids[:3]]
    batch, mask, positions = left_padded(texts)
    steps = list(walk(small, batch, mask, positions))
    past = [step.kept for step in steps[1:]]
    new, places = ids[6:8, None], np.array([[5], [3]])
    mask = np.ones((2, 1, 6), bool)
    mask[1, :, :2] = False
    *_, last = walk(small, new, mask, places, past)
    for row, text in enumerate(texts):
        wanted = small([*text, ids[6 + row]])[-1]
        np.testing.assert_allclose(to_logits(small, last.x)[row, 0], wanted, atol=1e-12)


def test_a_batch_equals_its_texts_one_by_one(small, ids):
    batch = np.stack([ids[:4], ids[4:8], ids[2:6]])
    one_by_one = [small(text) for text in batch]
    np.testing.assert_allclose(small(batch), one_by_one, atol=1e-12)
    weights = np.stack([small.attention_weights(text) for text in batch], axis=1)
    np.testing.assert_allclose(small.attention_weights(batch), weights, atol=1e-12)


def test_the_future_changes_nothing_before_it_bit_for_bit(small, ids):
    other = ids.copy()
    other[5:] = (other[5:] + 1) % VOCAB
    here, there = small(ids), small(other)
    np.testing.assert_array_equal(here[:5], there[:5])
    assert (here[5:] != there[5:]).all()


def test_a_mask_of_ones_lets_the_first_word_read_the_last(small, ids):
    everyone = np.ones((9, 9), bool)
    weights = small.attention_weights(ids, mask=everyone)
    assert (weights > 0).all()
    assert np.abs(small(ids, mask=everyone)[0] - small(ids)[0]).max() > 0.01


def test_a_mask_of_each_word_by_itself_forgets_all_neighbours(small, ids):
    logits = small(ids, mask=np.eye(9, dtype=bool))
    alone = [small([token])[0] for token in ids]
    np.testing.assert_allclose(logits, alone, atol=1e-12)


def test_only_the_distance_between_positions_counts(small, ids):
    np.testing.assert_allclose(
        small(ids, positions=np.arange(9) + 500), small(ids), atol=1e-10
    )
    stretched = small(ids, positions=3 * np.arange(9))
    assert np.abs(stretched - small(ids)).max() > 0.01


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"token_ids": [1, 11]}, "token id 11 is not a row"),
        ({"token_ids": []}, "token_ids is empty"),
        ({"token_ids": [1, 2], "positions": [0]}, "positions of shape"),
        ({"token_ids": [1, 2], "mask": [[True]]}, "mask of shape"),
        ({"token_ids": [1, 2], "mask": [[1, 0], [1, 1]]}, "read both ways"),
        ({"token_ids": [1, 2], "mask": [[0.0, -1e9], [0.0, 0.0]]}, "holds floats"),
        (
            {"token_ids": [[1, 2]] * 3, "mask": np.ones((2, 2, 2), bool)},
            "mask of shape",
        ),
    ],
)
def test_the_model_refuses_with_a_sentence(small, arguments, message):
    with pytest.raises(ValueError, match=message):
        small(**arguments)


def test_attention_weights_refuses_above_512_tokens(small):
    with pytest.raises(ValueError, match="513 tokens are too many"):
        small.attention_weights(np.zeros(513, int))
    assert small.attention_weights(np.zeros(512, int)).shape == (2, HEADS, 512, 512)


def greedy(some, ids, n_tokens):
    """The same without a cache, sampling or a stop."""
    for _ in range(n_tokens):
        ids = [*ids, int(some(ids)[-1].argmax())]
    return ids[-n_tokens:]


def test_continue_ids_takes_the_likeliest_each_time(small, ids):
    wanted = greedy(small, ids[:3].tolist(), 12)
    assert list(continue_ids(small, ids[:3], 12, stop=())) == wanted


def test_continue_ids_stops_before_a_stop_id_and_does_not_give_it(small, ids):
    free = list(continue_ids(small, ids[:3], 12, temperature=1.0, stop=()))
    stop = free[7]
    first = free.index(stop)
    stopped = list(continue_ids(small, ids[:3], 12, temperature=1.0, stop={stop}))
    assert stopped == free[:first]


def test_the_same_seed_gives_the_same_text_and_another_seed_another(small, ids):
    def sampled(seed):
        return list(continue_ids(small, ids, 30, temperature=1.0, seed=seed, stop=()))

    assert sampled(1) == sampled(1)
    assert sampled(1) != sampled(2)


def test_continue_ids_draws_as_often_as_the_probabilities_say(small, ids):
    chances = next_probabilities(small(ids)[-1], temperature=1.5, top_k=4)
    drawn = [
        next(continue_ids(small, ids, 1, 1.5, 4, seed=seed, stop=()))
        for seed in range(400)
    ]
    shares = np.bincount(drawn, minlength=VOCAB) / 400
    # four standard errors of a share of one half: 4 · √(.25/400) = .1
    np.testing.assert_allclose(shares, chances, atol=0.1)
    assert not shares[chances == 0].any()


def test_continue_ids_gives_no_token_when_none_is_asked_for(small, ids):
    assert list(continue_ids(small, ids, 0)) == []
    with pytest.raises(ValueError, match="n_tokens must be at least 0"):
        list(continue_ids(small, ids, -1))


def test_generate_refuses_an_empty_prompt(small):
    with pytest.raises(ValueError, match="the prompt is empty"):
        generate(small, data.load_tokenizer(), "")


def peak_of_a_prompt(some, n_tokens):
    """Bytes in use at most while one token is drawn after a prompt."""
    tracemalloc.start()
    next(continue_ids(some, np.zeros(n_tokens, int), 1, stop=()))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def test_continue_ids_keeps_no_table_of_weights_of_a_long_prompt(small):
    deep = replace(small, layers=small.layers * 4)
    more = peak_of_a_prompt(deep, 300) - peak_of_a_prompt(small, 300)
    # six more layers' weights would be 6 · 4 · 300 · 300 · 8 bytes = 17 MB
    assert more < 2e6


# ---- the real model ------------------------------------------------------------------


@pytest.fixture(scope="session")
def model_file() -> Path:
    """The file; skipped with the reason where it is not to be had, unless in CI."""
    try:
        return data.fetch_model()
    except (RuntimeError, ValueError) as reason:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"SmolLM2 is not here and cannot be fetched: {reason}")


@pytest.fixture(scope="session")
def real(model_file) -> Model:
    return load_model()


@pytest.fixture(scope="session")
def encode():
    return data.load_tokenizer().encode


BANKS = [
    "The nurse works at the blood bank",
    "The broker works at the investment bank",
    "The fisherman sat on the river bank",
]
SENTENCES = [
    *BANKS,
    "The dog bites the man",
    "The man bites the dog",
    "blue zebra piano lemon rocket blue zebra piano lemon rocket",
    "The capital of France is",
]
LENGTHS = (128, 5, 96, 64, 8, 48, 13, 32, 21, 40, 16, 27, 11, 6, 55, 9)


@pytest.fixture(scope="session")
def texts(encode) -> list[list[int]]:
    """The book's sentences, and 16 cuts from the glosses, of 5 to 128 tokens."""
    glosses = encode("\n".join(data.load_glosses()[20_000:20_200]))
    starts = np.concatenate([[0], np.cumsum(LENGTHS)])
    cuts = [glosses[a : a + n] for a, n in zip(starts, LENGTHS)]
    return [*(encode(text) for text in SENTENCES), *cuts]


@dataclass
class Reference:
    """What transformers says of each text: logits, states and weights."""

    logits: list[Any]
    states: list[Any]
    weights: list[Any]


@pytest.fixture(scope="session")
def reference(model_file, texts) -> Reference:
    """`LlamaForCausalLM` in float32 from the same file, run once on every text."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    gguf = pytest.importorskip("gguf", reason="the gguf package is not installed")
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("TRANSFORMERS_OFFLINE", "1")
        patch.setenv("TQDM_DISABLE", "1")
        transformers = pytest.importorskip(
            "transformers", reason="transformers is not installed"
        )
        # Half a minute less: it reads the file's header twice, makes one list 397
        # times, and takes 2 million slices of a memory map, which are slow.
        for name in ("GGUFReader", "get_tensor_name_map"):
            patch.setattr(gguf, name, functools.cache(getattr(gguf, name)))
        patch.setattr(np, "memmap", lambda path, **_: np.fromfile(path, np.uint8))
        theirs = transformers.LlamaForCausalLM.from_pretrained(
            str(model_file.parent),
            gguf_file=model_file.name,
            dtype=torch.float32,
            attn_implementation="eager",
        ).eval()
    result = Reference([], [], [])
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.inference_mode():
        for ids in texts:
            out = theirs(
                torch.tensor([ids]), output_hidden_states=True, output_attentions=True
            )
            result.logits.append(out.logits[0].numpy())
            result.states.append(np.stack([s[0].numpy() for s in out.hidden_states]))
            result.weights.append(np.stack([w[0].numpy() for w in out.attentions]))
    torch.set_num_threads(threads)
    return result


@pytest.fixture(scope="session")
def logits(real, texts) -> list[Any]:
    return [real(ids) for ids in texts]


def test_there_are_enough_texts_of_5_to_128_tokens(texts):
    lengths = [len(ids) for ids in texts]
    assert len(texts) >= 20
    assert min(lengths) == 5
    assert max(lengths) == 128


def test_the_real_model_is_smollm2(real):
    count = real.table.size + real.final_gain.size
    count += sum(
        a.size for s in real.layers for a in vars(s).values() if hasattr(a, "size")
    )
    assert count == 134_515_008
    assert len(real.layers) == 30
    assert real.table.shape == (49_152, 576)
    layer = real.layers[0]
    assert (layer.n_heads, layer.n_kv_heads, layer.w_gate.shape) == (9, 3, (576, 1536))
    assert (layer.base, round(layer.eps, 12)) == (100_000, 1e-5)


def test_logits_equal_those_of_transformers(logits, reference):
    # logits reach 30; 30 layers of float32 sums in another order differ by about 1e-4
    worst = max(np.abs(o - t).max() for o, t in zip(logits, reference.logits))
    assert worst <= 2e-4
    for ours, theirs in zip(logits, reference.logits):
        np.testing.assert_array_equal(ours.argmax(-1), theirs.argmax(-1))


def test_hidden_states_equal_those_of_transformers_but_the_last(real, texts, reference):
    for at in (0, 5, 9):
        ours, theirs = real.hidden_states(texts[at]), reference.states[at]
        assert ours.shape == theirs.shape
        np.testing.assert_array_equal(ours[0], theirs[0])
        # per word: the first word's vector is a hundred times longer than others
        gap = np.linalg.norm(ours - theirs, axis=-1)[:-1]
        assert (gap <= 1e-5 * np.linalg.norm(theirs, axis=-1)[:-1]).all()
        normed = rms_norm(ours[-1], real.final_gain)  # theirs is after the final norm
        np.testing.assert_allclose(normed, theirs[-1], atol=2e-4)
        assert np.abs(ours[-1] - theirs[-1]).max() > 1


def test_attention_weights_equal_those_of_transformers(real, texts, reference):
    for at in (0, 5, 9):
        ours = real.attention_weights(texts[at])
        assert ours.shape == (30, 9, len(texts[at]), len(texts[at]))
        np.testing.assert_allclose(ours, reference.weights[at], atol=2e-5)


class InFloat64:
    """The layers in float64, each made when it is asked for: all would take 850 MB."""

    def __init__(self, layers):
        self.layers = layers

    def __len__(self):
        return len(self.layers)

    def __getitem__(self, number):
        layer = self.layers[number]
        arrays = {k: v for k, v in vars(layer).items() if hasattr(v, "dtype")}
        return replace(layer, **{k: v.astype(np.float64) for k, v in arrays.items()})


def test_we_are_as_near_to_float64_as_torch_is(real, texts, logits, reference):
    """Over all texts of at most 32 tokens: the largest error of one is a single draw.

    It nearly always stands at the first word, whose vector reaches 24,000 in one
    layer; text by text the ratio of the two largest errors is 0.4 to 3.6.
    """
    table = real.table.astype(np.float64)
    exact = Model(table, InFloat64(real.layers), real.final_gain.astype(np.float64))
    ours, theirs = [], []
    for at, ids in enumerate(texts):
        if len(ids) <= 32:
            wanted = exact(ids)
            assert wanted.dtype == np.float64
            ours.append(np.abs(logits[at] - wanted).ravel())
            theirs.append(np.abs(reference.logits[at] - wanted).ravel())
    a, b = np.concatenate(ours), np.concatenate(theirs)
    assert len(ours) >= 15
    assert a.max() <= 2 * b.max()
    assert np.sqrt(np.square(a).mean()) <= 2 * np.sqrt(np.square(b).mean())


def test_half_split_pairing_fails_on_logits_though_it_still_says_paris(
    real, encode, texts, reference, monkeypatch
):
    monkeypatch.setattr(model, "rotate", rotate_half_split)
    at = SENTENCES.index("The capital of France is")
    wrong = real(texts[at])
    assert wrong[-1].argmax() == encode(" Paris")[0]
    assert np.abs(wrong - reference.logits[at]).max() > 2


def test_the_real_model_says_paris(real, encode):
    answer = generate(real, data.load_tokenizer(), "The capital of France is", 2)
    assert answer == " Paris."


@pytest.mark.parametrize("n_prompt", [1, 2, 7])
def test_a_cached_decode_of_the_real_model_equals_the_full_pass(
    real, texts, logits, n_prompt
):
    # one row and many rows are summed in different orders: 1e-4 as against torch
    at = SENTENCES.index(SENTENCES[5])
    result = decode(real, texts[at], n_prompt)
    np.testing.assert_allclose(result, logits[at], atol=2e-4)


def test_filler_on_the_left_changes_nothing_in_the_real_model(real, texts, logits):
    chosen = [0, 3, 11]
    batch, mask, positions = left_padded([texts[at] for at in chosen])
    result = real(batch, mask, positions)
    for row, at in enumerate(chosen):
        np.testing.assert_allclose(
            result[row, -len(texts[at]) :], logits[at], atol=2e-4
        )


def test_the_future_changes_nothing_in_the_real_model_bit_for_bit(real, texts, encode):
    ids = texts[0]
    other = [*ids[:4], *encode(" cat sat on")]
    assert len(other) == len(ids)
    np.testing.assert_array_equal(real(ids)[:4], real(other)[:4])


def test_bank_is_one_vector_before_the_first_layer_and_three_after_the_last(
    real, encode
):
    bank = encode(" bank")[0]
    states = [real.hidden_states(encode(text)) for text in BANKS]
    at = [encode(text).index(bank) for text in BANKS]
    assert at == [6, 6, 6]
    first = [state[0, 6] for state in states]
    np.testing.assert_array_equal(first[0], first[1])
    np.testing.assert_array_equal(first[0], first[2])
    last = [state[-1, 6] for state in states]
    for a, b in ((0, 1), (0, 2), (1, 2)):
        gap = np.linalg.norm(last[a] - last[b])
        assert gap > 0.1 * np.linalg.norm(last[a])


def test_heads_look_where_the_book_says(real, encode):
    weights = real.attention_weights(encode(SENTENCES[5]))  # five words, twice
    place = np.arange(1, 10)
    before = weights[16, 0, place, place - 1]  # the previous-token head
    assert before.min() >= 0.9
    # The induction head, at a word's second time, reads the word after its first time.
    again = np.arange(6, 10)
    after_first = weights[18, 6, again, again - 4]
    assert round(float(after_first.mean()), 1) == 0.9
    assert (weights[18, 6, again].argmax(-1) == again - 4).all()
