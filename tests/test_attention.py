"""Attention: by hand, as properties, and against torch."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from contextual.attention import (
    attention,
    merge_heads,
    multi_head_attention,
    share_heads,
    softmax,
    split_heads,
)
from contextual.masking import causal_mask, padding_mask
from contextual.position import rotate

# A busy machine is slow, not wrong: no example fails for the time it took.
settings.register_profile(
    "patient", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("patient")

# float64 rounding in sums of up to a few hundred products of size 1.
EXACT = 1e-12

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 6)


def normal(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """Random numbers that cannot be written to: a function that tries is caught."""
    values = np.random.default_rng(seed).normal(size=shape)
    values.flags.writeable = False
    return values


def layer(
    d_model: int, d_kv: int | None = None, seed: int = 1
) -> tuple[np.ndarray[Any, Any], ...]:
    """w_q, w_k, w_v, w_o of a layer, scaled so that outputs stay of size 1."""
    outs = [d_model, d_kv or d_model, d_kv or d_model, d_model]
    scale = 1 / math.sqrt(d_model)
    return tuple(
        normal(d_model, d_out, seed=seed + i) * scale for i, d_out in enumerate(outs)
    )


def attention_in_loops(q, k, v, mask=None):
    """The definition for two axes, one number at a time."""
    output = np.zeros((len(q), v.shape[1]))
    weights = np.zeros((len(q), len(k)))
    for t in range(len(q)):
        seen = [s for s in range(len(k)) if mask is None or mask[t][s]]
        scores = {
            s: sum(a * b for a, b in zip(q[t], k[s], strict=True)) / len(q[t]) ** 0.5
            for s in seen
        }
        powers = {s: math.exp(score) for s, score in scores.items()}
        for s in seen:
            weights[t, s] = powers[s] / sum(powers.values())
            output[t] += weights[t, s] * v[s]
    return output, weights


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="torch is not installed")


# softmax


def test_softmax_of_log_one_two_three_is_one_two_three_sixths():
    weights = softmax(np.log([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(weights, [1 / 6, 2 / 6, 3 / 6], rtol=1e-15)


def test_softmax_of_large_scores_is_that_of_their_differences():
    weights = softmax([1000, 1001, 1002])
    np.testing.assert_allclose(weights, [0.09003057, 0.24472847, 0.66524096], atol=1e-8)
    np.testing.assert_array_equal(softmax([-1000, -999, -998]), weights)


def test_softmax_shares_along_the_axis_it_is_told():
    scores = np.log([[1.0, 1.0, 1.0], [1.0, 3.0, 9.0]])
    thirds = [[1 / 3, 1 / 3, 1 / 3], [1 / 13, 3 / 13, 9 / 13]]
    columns = [[1 / 2, 1 / 4, 1 / 10], [1 / 2, 3 / 4, 9 / 10]]
    np.testing.assert_allclose(softmax(scores), thirds)
    np.testing.assert_allclose(softmax(scores, axis=1), thirds)
    np.testing.assert_allclose(softmax(scores, axis=0), columns)
    np.testing.assert_allclose(softmax(scores, axis=-2), columns)


def test_minus_infinity_gets_a_weight_of_exactly_zero():
    np.testing.assert_array_equal(softmax([0.0, -np.inf, 0.0]), [0.5, 0.0, 0.5])
    assert softmax([-1e9, -np.inf])[1] == 0.0


def test_a_row_of_nothing_but_minus_infinity_gets_zeros_and_no_warning():
    scores = [[-np.inf, -np.inf], [0.0, 0.0]]
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(softmax(scores), [[0.0, 0.0], [0.5, 0.5]])
        np.testing.assert_array_equal(softmax(scores, axis=0), [[0.0, 0.0], [1.0, 1.0]])


def test_a_finite_gap_wide_enough_also_gives_exactly_zero():
    assert softmax([0.0, -746.0])[1] == 0.0
    assert softmax([0.0, -700.0])[1] > 0.0
    assert softmax(np.float32([0, -105]))[1] == 0.0
    assert softmax(np.float32([0, -100]))[1] > 0.0


@pytest.mark.parametrize("axis", [0, 1])
def test_softmax_of_many_halves_still_sums_to_one(axis):
    # numpy adds halves one by one off the contiguous axis: 4096 of them stop at 2048
    scores = np.zeros((4096, 4096 // 1024), np.float16)
    sums = softmax(scores, axis=axis).sum(axis=axis)
    assert np.allclose(sums, 1, atol=1e-3)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_scores_too_large_for_their_type_are_refused_not_read_as_masked(kind):
    huge = np.full((2, 4), np.sqrt(np.finfo(kind).max), kind)
    with pytest.raises(ValueError, match=f"do not fit {np.dtype(kind)}"):
        attention(huge[:1], -huge, np.ones((2, 1), kind))


def test_halves_are_multiplied_in_float32_so_that_none_overflows():
    q, k = np.full((1, 64), 40, np.float16), np.full((2, 64), -40, np.float16)
    assert attention(q, k, np.ones((2, 1), np.float16))[1].tolist() == [[0.5, 0.5]]


@given(
    hnp.arrays(
        st.sampled_from([np.float64, np.float32, np.float16]),
        hnp.array_shapes(min_dims=1, max_dims=3, max_side=5),
        elements=st.floats(-60_000, 60_000, width=16) | st.just(-np.inf),
    )
)
def test_softmax_rows_are_weights_whatever_the_scores(scores):
    weights = softmax(scores)
    assert weights.dtype == max(scores.dtype, np.dtype(np.float32))
    assert weights.shape == scores.shape
    assert (weights >= 0).all()
    seen = (scores > -np.inf).any(axis=-1)
    # at most 5 numbers are added: a few roundings of the dtype
    eps = 5 * float(np.finfo(scores.dtype).eps)
    np.testing.assert_allclose(weights.sum(axis=-1), seen, atol=eps)
    assert (weights[scores == -np.inf] == 0).all()


def test_the_largest_numbers_a_float_can_hold_are_scores_like_any_other():
    for kind in (np.float16, np.float32, np.float64):
        limit = np.finfo(kind).max
        weights = softmax(np.array([-limit, limit, limit], kind))
        np.testing.assert_array_equal(weights, [0.0, 0.5, 0.5])


@given(
    hnp.arrays(np.float64, st.integers(1, 8), elements=st.floats(-50, 50)),
    st.floats(-1e4, 1e4),
)
def test_adding_one_number_to_all_scores_changes_nothing(scores, shift):
    # scores + shift is rounded at 1e4: 2e-12 of each weight
    np.testing.assert_allclose(
        softmax(scores + shift), softmax(scores), rtol=1e-11, atol=1e-300
    )


@given(hnp.arrays(np.float64, 5, elements=st.floats(-30, 30)))
def test_a_higher_score_never_gets_a_lower_weight(scores):
    order = np.argsort(scores)
    assert (np.diff(softmax(scores)[order]) >= 0).all()


def test_softmax_of_whole_numbers_is_float64_and_float32_stays():
    assert softmax([1, 2]).dtype == np.float64
    assert softmax(np.float32([1, 2])).dtype == np.float32
    assert softmax(np.float32([1, -np.inf])).dtype == np.float32


def test_softmax_agrees_with_torch(torch):
    scores = normal(3, 4, 5) * 10
    for axis in (0, 1, 2, -1):
        expected = torch.softmax(torch.from_numpy(scores.copy()), dim=axis).numpy()
        np.testing.assert_allclose(softmax(scores, axis), expected, rtol=EXACT)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("axis", [0, 1])
def test_scores_that_are_no_scores_are_refused(bad, axis):
    with pytest.raises(ValueError, match="scores hold NaN or \\+inf"):
        softmax([[0.0, 1.0], [bad, -np.inf]], axis)


def test_softmax_refuses_what_has_no_row_to_share():
    with pytest.raises(ValueError, match="scores is empty"):
        softmax([])
    with pytest.raises(ValueError, match="scores needs at least 1 dimension"):
        softmax(3.0)
    with pytest.raises(ValueError, match="scores must hold real numbers"):
        softmax(["a"])


@pytest.mark.parametrize("axis", [2, -3, None, 1.0, True, "rows", (0, 1)])
def test_an_axis_that_scores_do_not_have_is_refused_with_their_shape(axis):
    with pytest.raises(ValueError, match=r"axis must be .* from -2 to 1 .*\(2, 3\)"):
        softmax(np.zeros((2, 3)), axis)


# attention


def test_attention_of_two_words_by_hand():
    # d_head 4: scores 2·log 3 / √4 = log 3 against 0, so weights 3/4 and 1/4
    q = [[2 * math.log(3), 0, 0, 0]]
    k = [[1, 0, 0, 0], [0, 1, 0, 0]]
    v = [[4.0, 0.0], [0.0, 8.0]]
    output, weights = attention(q, k, v)
    np.testing.assert_allclose(weights, [[0.75, 0.25]])
    np.testing.assert_allclose(output, [[3.0, 2.0]])


def test_weights_of_two_queries_and_three_keys_share_out_each_query():
    _, weights = attention(normal(2, 4), normal(3, 4, seed=1), normal(3, 5, seed=2))
    assert weights.shape == (2, 3)
    np.testing.assert_allclose(weights.sum(axis=1), [1.0, 1.0])
    assert not np.allclose(weights.sum(axis=0), 2 / 3)


def test_a_hidden_key_gets_nothing_and_the_rest_share_all():
    q, k = np.zeros((1, 4)), np.zeros((3, 4))
    v = np.diag([3.0, 5.0, 7.0])
    output, weights = attention(q, k, v, [[True, False, True]])
    np.testing.assert_array_equal(weights, [[0.5, 0.0, 0.5]])
    np.testing.assert_array_equal(output, [[1.5, 0.0, 3.5]])


def test_a_word_that_may_look_nowhere_gets_zeros_and_no_warning():
    q, k, v = normal(3, 3, 4)
    mask = causal_mask(3) & np.array([False, True, True])
    with np.errstate(all="raise"):
        output, weights = attention(q, k, v, mask)
    np.testing.assert_array_equal(weights[0], np.zeros(3))
    np.testing.assert_array_equal(output[0], np.zeros(4))
    np.testing.assert_array_equal(weights[1], [0.0, 1.0, 0.0])
    assert np.isfinite(output).all()


@pytest.mark.parametrize("d_head", [8, 64, 512])
def test_the_scale_keeps_weights_equally_soft_at_every_head_size(d_head):
    rows = 2000
    q, k = normal(rows, 1, d_head), normal(rows, 16, d_head, seed=1)
    _, weights = attention(q, k, np.zeros((16, 1)))
    # .24 to .25 was measured over 10,000 rows; unscaled it is .56 to .95
    assert weights.max(axis=-1).mean() == pytest.approx(0.245, abs=0.015)


@given(seeds, sizes, sizes, sizes, sizes, st.booleans())
def test_attention_is_its_definition_one_number_at_a_time(
    seed, seq_len, n_keys, d_head, d_v, masked
):
    q, k, v = (
        normal(*shape, seed=seed + i)
        for i, shape in enumerate([(seq_len, d_head), (n_keys, d_head), (n_keys, d_v)])
    )
    mask = normal(seq_len, n_keys, seed=seed + 3) > 0 if masked else None
    output, weights = attention(q, k, v, mask)
    by_hand_output, by_hand_weights = attention_in_loops(q, k, v, mask)
    np.testing.assert_allclose(weights, by_hand_weights, atol=EXACT)
    np.testing.assert_allclose(output, by_hand_output, atol=EXACT)
    if mask is not None:
        assert (weights[~mask] == 0.0).all()


@pytest.mark.parametrize(
    ("lead_q", "lead_k", "lead_v"),
    [
        ((2,), (2,), (2,)),
        ((2, 3), (2, 3), (2, 3)),
        ((2, 3), (1, 3), (3,)),
        ((4, 2, 3), (2, 1), ()),
        ((), (2,), (3, 1)),
    ],
)
def test_leading_axes_broadcast(lead_q, lead_k, lead_v):
    q, k, v = (
        normal(*lead, *core, seed=i)
        for i, (lead, core) in enumerate(
            [(lead_q, (4, 8)), (lead_k, (5, 8)), (lead_v, (5, 6))]
        )
    )
    output, weights = attention(q, k, v)
    lead = np.broadcast_shapes(lead_q, lead_k, lead_v)
    assert output.shape == (*lead, 4, 6)
    for index in np.ndindex(*lead):
        slices = (
            np.broadcast_to(array, lead + array.shape[-2:])[index]
            for array in (q, k, v)
        )
        one_output, one_weights = attention_in_loops(*slices)
        np.testing.assert_allclose(output[index], one_output, atol=EXACT)
        np.testing.assert_allclose(
            np.broadcast_to(weights, (*lead, 4, 5))[index], one_weights, atol=EXACT
        )


@given(seeds, st.integers(2, 7))
def test_without_a_mask_shuffled_words_get_shuffled_outputs(seed, seq_len):
    x = normal(seq_len, 8, seed=seed)
    order = np.random.default_rng(seed).permutation(seq_len)
    output, weights = attention(x, x, x)
    shuffled, shuffled_weights = attention(x[order], x[order], x[order])
    np.testing.assert_allclose(shuffled, output[order], atol=EXACT)
    np.testing.assert_allclose(
        shuffled_weights, weights[np.ix_(order, order)], atol=EXACT
    )


def test_without_a_mask_dog_bites_man_is_man_bites_dog():
    the, dog, bites, man = normal(4, 16)
    one = np.stack([the, dog, bites, the, man])
    other = np.stack([the, man, bites, the, dog])
    same_word = [0, 4, 2, 3, 1]  # where each word of `one` stands in `other`
    w = layer(16)
    before, _ = multi_head_attention(one, *w, n_heads=4)
    after, _ = multi_head_attention(other, *w, n_heads=4)
    np.testing.assert_allclose(after[same_word], before, atol=EXACT)
    # With a causal mask the set of words before leaks order, except at the last word
    # of a sentence, which sees the same set either way.
    mask = causal_mask(5)
    before, _ = multi_head_attention(one, *w, n_heads=4, mask=mask)
    after, _ = multi_head_attention(other, *w, n_heads=4, mask=mask)
    assert np.abs(after[same_word] - before).max(axis=1)[[1, 2, 4]].min() > 0.01
    np.testing.assert_array_equal(after[0], before[0])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_output_and_weights_have_the_dtype_of_the_input(kind):
    q = np.ones((3, 4), kind)
    for array in attention(q, q, q, causal_mask(3)):
        assert array.dtype == kind


@pytest.mark.parametrize("prompt", [1, 2, 7])
def test_decoding_word_by_word_with_kept_keys_equals_the_full_text(prompt):
    q, k, v = normal(3, 2, 10, 8)  # (q k v, H, T, d_head)
    places = np.arange(10)
    full, _ = attention(rotate(q, places), rotate(k, places), v, causal_mask(10))
    turned = rotate(k, places)[:, :prompt]
    output, _ = attention(
        rotate(q, places)[:, :prompt], turned, v[:, :prompt], causal_mask(prompt)
    )
    steps = [output]
    for t in range(prompt, 10):
        new = rotate(k[:, t : t + 1], [t])
        turned = np.concatenate([turned, new], axis=1)  # what was turned stays turned
        # the newest word may look at all kept keys: it needs no mask
        output, _ = attention(rotate(q[:, t : t + 1], [t]), turned, v[:, : t + 1])
        steps.append(output)
    np.testing.assert_allclose(np.concatenate(steps, axis=1), full, atol=EXACT)


@pytest.mark.parametrize("shape", [(4, 5), (2, 1, 4, 5), (2, 3, 1, 5), (1, 5), (5,)])
def test_masked_attention_agrees_with_torch(torch, shape):
    functional = torch.nn.functional
    q, k = normal(2, 3, 4, 8), normal(2, 3, 5, 8, seed=1)
    v, mask = normal(2, 3, 5, 6, seed=2), normal(*shape, seed=3) > -0.5
    expected = functional.scaled_dot_product_attention(
        *(torch.from_numpy(a.copy()) for a in (q, k, v)),
        attn_mask=torch.from_numpy(np.broadcast_to(mask, (2, 3, 4, 5)).copy()),
    )
    output, _ = attention(q, k, v, mask)
    np.testing.assert_allclose(output, expected.numpy(), atol=EXACT)


def test_causal_attention_agrees_with_torch_is_causal_in_both_precisions(torch):
    functional = torch.nn.functional
    # float32: sums of 64 products and of 100 values, each rounded at 6e-8
    for kind, tolerance in ((np.float64, EXACT), (np.float32, 5e-6)):
        q, k, v = normal(3, 2, 3, 100, 64).astype(kind)
        expected = functional.scaled_dot_product_attention(
            *(torch.from_numpy(a) for a in (q, k, v)), is_causal=True
        )
        output, _ = attention(q, k, v, causal_mask(100))
        np.testing.assert_allclose(output, expected.numpy(), atol=tolerance)


# what attention refuses


def test_queries_and_keys_of_different_size_are_refused_with_both_sizes():
    with pytest.raises(ValueError, match="same d_head, not 8 and 6"):
        attention(normal(3, 8), normal(4, 6), normal(4, 8))


def test_a_key_without_a_value_is_refused_with_both_numbers():
    with pytest.raises(ValueError, match="not 4 keys and 5 values"):
        attention(normal(3, 8), normal(4, 8), normal(5, 8))


def test_leading_axes_that_do_not_fit_are_refused_with_all_three_shapes():
    with pytest.raises(
        ValueError, match=r"q \(2, 3, 8\), k \(4, 3, 8\) and v \(3, 8\)"
    ):
        attention(normal(2, 3, 8), normal(4, 3, 8), normal(3, 8))


@pytest.mark.parametrize("name", ["q", "k", "v"])
def test_vectors_that_are_no_vectors_are_refused_by_name(name):
    good = {"q": np.ones((2, 4)), "k": np.ones((2, 4)), "v": np.ones((2, 4))}
    for bad, sentence in (
        (np.ones(4), f"{name} needs at least 2 dimension"),
        (np.ones((0, 4)), f"{name} is empty"),
        (np.full((2, 4), np.nan), f"{name} holds NaN or infinity"),
        (np.full((2, 4), np.inf), f"{name} holds NaN or infinity"),
        (np.ones((2, 4), complex), f"{name} must hold real numbers"),
        ([[1.0], [1.0, 2.0]], f"{name} is not an array of numbers"),
    ):
        with pytest.raises(ValueError, match=sentence):
            attention(**(good | {name: bad}))


def test_masks_that_could_be_read_the_other_way_round_are_refused():
    q = np.ones((3, 4))
    with pytest.raises(ValueError, match="can be read both ways"):
        attention(q, q, q, np.tril(np.ones((3, 3), int)))
    with pytest.raises(ValueError, match="add such a mask to the scores"):
        attention(q, q, q, np.where(causal_mask(3), 0.0, -np.inf))


def test_a_ragged_mask_is_refused():
    q = np.ones((2, 4))
    with pytest.raises(ValueError, match="mask is not an array of booleans"):
        attention(q, q, q, [[True], [True, False]])
    with pytest.raises(ValueError, match="mask is not an array of booleans"):
        multi_head_attention(q, *layer(4), n_heads=2, mask=[[True], [True, False]])


def test_a_mask_of_the_wrong_shape_is_refused_with_both_shapes():
    with pytest.raises(ValueError, match=r"\(5, 4\) does not fit scores of .*\(4, 5\)"):
        attention(normal(4, 8), normal(5, 8), normal(5, 8), np.ones((5, 4), bool))
    with pytest.raises(ValueError, match=r"\(2, 4, 4\) does not fit"):
        attention(*normal(3, 4, 8), np.ones((2, 4, 4), bool))


@pytest.mark.parametrize("n_heads", [2, 3])
def test_a_mask_per_text_without_an_axis_for_the_heads_is_refused(n_heads):
    q, k, v = normal(3, 2, n_heads, 5, 8)  # two texts: with two heads numpy would
    per_text = causal_mask(5) & padding_mask([5, 3], 5)  # read one mask per head
    with pytest.raises(ValueError, match=r"lacks an axis of .*mask\[:, None\]"):
        attention(q, k, v, per_text)
    _, weights = attention(q, k, v, per_text[:, None])
    assert (weights[1, :, :, 3:] == 0).all()
    assert (weights[0, :, 4, 3:] > 0).all()


def test_a_mask_per_head_is_read_per_head_once_its_axis_is_written():
    q, k, v = normal(3, 2, 2, 5, 8)
    per_head = causal_mask(5) & padding_mask([5, 3], 5)
    _, weights = attention(q, k, v, per_head[None])
    assert (weights[:, 1, :, 3:] == 0).all()
    assert (weights[:, 0, 4, 3:] > 0).all()


# heads


def test_head_zero_has_the_first_numbers_of_every_word():
    x = [[0, 1, 2, 3], [10, 11, 12, 13], [20, 21, 22, 23]]
    np.testing.assert_array_equal(
        split_heads(x, 2),
        [[[0, 1], [10, 11], [20, 21]], [[2, 3], [12, 13], [22, 23]]],
    )


@given(seeds, sizes, sizes, sizes, sizes)
def test_merging_undoes_splitting(seed, batch_size, seq_len, n_heads, d_head):
    x = normal(batch_size, seq_len, n_heads * d_head, seed=seed)
    heads = split_heads(x, n_heads)
    assert heads.shape == (batch_size, n_heads, seq_len, d_head)
    np.testing.assert_array_equal(merge_heads(heads), x)
    np.testing.assert_array_equal(split_heads(x[0], n_heads), heads[0])
    for head in range(n_heads):
        share = x[..., head * d_head : (head + 1) * d_head]
        np.testing.assert_array_equal(heads[:, head], share)


def test_neighbouring_query_heads_share_a_key_head():
    kv = np.array([[[1.0]], [[2.0]], [[3.0]]])  # (n_kv_heads, T, d_head)
    shared = share_heads(kv, 6)
    np.testing.assert_array_equal(shared[:, 0, 0], [1, 1, 2, 2, 3, 3])


@given(seeds, sizes, sizes)
def test_query_head_h_reads_key_head_h_over_the_size_of_its_group(seed, n_kv, group):
    kv = normal(2, n_kv, 3, 4, seed=seed)
    shared = share_heads(kv, n_kv * group)
    assert shared.shape == (2, n_kv * group, 3, 4)
    for head in range(n_kv * group):
        np.testing.assert_array_equal(shared[:, head], kv[:, head // group])


@pytest.mark.parametrize("n_kv_heads", [1, 3, 9])
def test_shared_heads_agree_with_torch_grouped_query_attention(torch, n_kv_heads):
    functional = torch.nn.functional
    q = normal(2, 9, 7, 8)
    k, v = normal(2, 2, n_kv_heads, 7, 8, seed=1)
    expected = functional.scaled_dot_product_attention(
        *(torch.from_numpy(a.copy()) for a in (q, k, v)),
        attn_mask=torch.from_numpy(causal_mask(7)),
        enable_gqa=True,
    )
    output, _ = attention(q, share_heads(k, 9), share_heads(v, 9), causal_mask(7))
    np.testing.assert_allclose(output, expected.numpy(), atol=EXACT)


def test_heads_that_do_not_divide_are_refused_with_both_numbers():
    with pytest.raises(ValueError, match="d_model 10 cannot be split into 3 equal"):
        split_heads(normal(4, 10), 3)
    with pytest.raises(ValueError, match="n_heads 9 cannot be split into 2 equal"):
        share_heads(normal(2, 4, 8), 9)
    with pytest.raises(ValueError, match="n_heads 2 cannot be split into 4 equal"):
        share_heads(normal(4, 4, 8), 2)


@pytest.mark.parametrize("n_heads", [0, -1, 2.0, True, "2"])
def test_a_number_of_heads_that_is_no_positive_whole_number_is_refused(n_heads):
    with pytest.raises(ValueError, match="n_heads must be"):
        split_heads(normal(3, 4), n_heads)
    with pytest.raises(ValueError, match="n_heads must be"):
        share_heads(normal(1, 3, 4), n_heads)
    with pytest.raises(ValueError, match="n_heads must be"):
        multi_head_attention(normal(3, 4), *layer(4), n_heads=n_heads)


def test_arrays_with_an_axis_too_few_are_refused_with_their_shape():
    with pytest.raises(ValueError, match=r"x needs at least 2 .*\(4,\)"):
        split_heads(normal(4), 2)
    with pytest.raises(ValueError, match=r"x needs at least 3 .*\(3, 4\)"):
        merge_heads(normal(3, 4))
    with pytest.raises(ValueError, match=r"kv needs at least 3 .*\(3, 4\)"):
        share_heads(normal(3, 4), 2)


# multi_head_attention


def test_one_head_with_identity_matrices_is_plain_attention():
    x = normal(5, 4)
    eye = np.eye(4)
    output, weights = multi_head_attention(x, eye, eye, eye, eye, n_heads=1)
    plain_output, plain_weights = attention(x, x, x)
    np.testing.assert_allclose(output, plain_output, atol=EXACT)
    np.testing.assert_allclose(weights, plain_weights[None], atol=EXACT)


def test_each_head_attends_with_its_own_columns_of_the_matrices():
    x, (w_q, w_k, w_v, w_o) = normal(5, 12), layer(12)
    output, weights = multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads=3)
    found = []
    for head in range(3):
        own = slice(4 * head, 4 * head + 4)
        one, one_weights = attention_in_loops(
            x @ w_q[:, own], x @ w_k[:, own], x @ w_v[:, own]
        )
        np.testing.assert_allclose(weights[head], one_weights, atol=EXACT)
        found.append(one)
    np.testing.assert_allclose(output, np.concatenate(found, axis=1) @ w_o, atol=EXACT)


@pytest.mark.parametrize("n_kv_heads", [1, 2, 3, 6])
def test_grouped_heads_equal_a_layer_with_those_columns_repeated(n_kv_heads):
    n_heads, d_head = 6, 4
    x = normal(2, 5, 24)
    w_q, w_k, w_v, w_o = layer(24, n_kv_heads * d_head)

    def repeated(w):
        by_head = w.reshape(24, n_kv_heads, d_head)
        return np.repeat(by_head, n_heads // n_kv_heads, axis=1).reshape(24, 24)

    grouped, grouped_weights = multi_head_attention(
        x, w_q, w_k, w_v, w_o, n_heads, n_kv_heads, mask=causal_mask(5)
    )
    full, full_weights = multi_head_attention(
        x, w_q, repeated(w_k), repeated(w_v), w_o, n_heads, mask=causal_mask(5)
    )
    np.testing.assert_allclose(grouped, full, atol=EXACT)
    np.testing.assert_allclose(grouped_weights, full_weights, atol=EXACT)


@given(seeds, st.integers(0, 3), st.sampled_from([1, 2, 4]), st.booleans())
def test_every_text_of_a_batch_is_read_alone(seed, n_leading, n_heads, masked):
    leading = (2, 1, 3)[:n_leading]
    x = normal(*leading, 5, 8, seed=seed)
    mask = causal_mask(5) if masked else None
    w = layer(8, seed=seed)
    output, weights = multi_head_attention(x, *w, n_heads=n_heads, mask=mask)
    assert output.shape == x.shape
    assert weights.shape == (*leading, n_heads, 5, 5)
    for index in np.ndindex(*leading):
        one, one_weights = multi_head_attention(
            x[index], *w, n_heads=n_heads, mask=mask
        )
        np.testing.assert_allclose(output[index], one, atol=EXACT)
        np.testing.assert_allclose(weights[index], one_weights, atol=EXACT)


@given(seeds, st.integers(1, 7))
def test_changing_the_future_changes_nothing_before_it_bit_for_bit(seed, now):
    x, w = normal(2, 8, 16, seed=seed), layer(16)
    changed = x.copy()
    changed[:, now:] = 100 * normal(2, 8 - now, 16, seed=seed + 1)
    mask = causal_mask(8)
    before, before_weights = multi_head_attention(x, *w, n_heads=4, mask=mask)
    after, after_weights = multi_head_attention(changed, *w, n_heads=4, mask=mask)
    np.testing.assert_array_equal(after[:, :now], before[:, :now])
    np.testing.assert_array_equal(after_weights[:, :, :now], before_weights[:, :, :now])
    assert np.abs(after[:, now:] - before[:, now:]).max() > 0.01


def test_a_longer_text_leaves_the_words_before_as_they_were_up_to_rounding():
    x, w = normal(40, 16).astype(np.float32), [m.astype(np.float32) for m in layer(16)]
    full, _ = multi_head_attention(x, *w, n_heads=4, mask=causal_mask(40))
    for seq_len in (1, 2, 7, 39):
        mask = causal_mask(seq_len)
        short, _ = multi_head_attention(x[:seq_len], *w, n_heads=4, mask=mask)
        # other shapes add in another order: float32 rounding, relative to size 1
        np.testing.assert_allclose(short, full[:seq_len], atol=1e-5)


@pytest.mark.parametrize("n_heads", [2, 4])
def test_a_mask_per_text_hides_the_same_from_all_heads_of_that_text(n_heads):
    x, w = normal(2, 5, 8), layer(8)
    mask = causal_mask(5) & padding_mask([5, 2], 5)  # (B, T, T), also where B = H
    _, weights = multi_head_attention(x, *w, n_heads=n_heads, mask=mask)
    for text in range(2):
        for head in range(n_heads):
            assert (weights[text, head][~mask[text]] == 0).all()
            assert (weights[text, head][mask[text]] > 0).all()
    with_axis = multi_head_attention(x, *w, n_heads=n_heads, mask=mask[:, None])[1]
    np.testing.assert_array_equal(with_axis, weights)


def test_a_mask_per_head_hides_from_that_head_only():
    x, w = normal(3, 5, 8), layer(8)
    mask = np.ones((1, 2, 5, 5), bool)
    mask[0, 1] = causal_mask(5)
    _, weights = multi_head_attention(x, *w, n_heads=2, mask=mask)
    assert (weights[:, 0] > 0).all()
    assert (weights[:, 1][:, ~causal_mask(5)] == 0).all()
    _, one = multi_head_attention(x[0], *w, n_heads=2, mask=mask[0])
    np.testing.assert_allclose(one, weights[0], atol=EXACT)


def test_the_number_of_parameters_does_not_grow_with_the_heads():
    x, w = normal(5, 12), layer(12)
    outputs = [multi_head_attention(x, *w, n_heads=h)[0] for h in (1, 2, 3, 12)]
    for one, other in itertools.pairwise(outputs):
        assert one.shape == other.shape
        assert np.abs(one - other).max() > 0.01


@pytest.mark.parametrize("n_heads", [1, 2, 4])
@pytest.mark.parametrize("masked", [False, True])
def test_a_whole_layer_agrees_with_torch_multihead_attention(torch, n_heads, masked):
    w_q, w_k, w_v, w_o = layer(16)
    x = normal(3, 6, 16)
    reference = torch.nn.MultiheadAttention(
        16, n_heads, bias=False, batch_first=True, dtype=torch.float64
    ).eval()
    stacked = np.concatenate([w_q.T, w_k.T, w_v.T])  # torch stores (out, in)
    reference.in_proj_weight.data = torch.from_numpy(stacked)
    reference.out_proj.weight.data = torch.from_numpy(w_o.T.copy())
    mask = causal_mask(6) if masked else None
    batch = torch.from_numpy(x.copy())
    expected, expected_weights = reference(
        *(batch, batch, batch),
        attn_mask=torch.from_numpy(~mask) if masked else None,  # True = may not look
        average_attn_weights=False,
    )
    output, weights = multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads, mask=mask)
    np.testing.assert_allclose(output, expected.detach().numpy(), atol=EXACT)
    np.testing.assert_allclose(weights, expected_weights.detach().numpy(), atol=EXACT)


def test_arrays_from_torch_are_read_like_any_other(torch):
    x = torch.from_numpy(normal(5, 8).copy())
    output, _ = attention(x, x, x, torch.ones(5, 5).tril().bool())
    expected, _ = attention(x.numpy(), x.numpy(), x.numpy(), causal_mask(5))
    np.testing.assert_array_equal(output, expected)


# what multi_head_attention refuses


@pytest.mark.parametrize("place", range(4))
def test_a_matrix_of_the_wrong_shape_is_refused_by_name_with_both_shapes(place):
    name = ("w_q", "w_k", "w_v", "w_o")[place]
    w = list(layer(8, 4))
    needed = w[place].shape
    w[place] = np.ones((8, 6))
    with pytest.raises(ValueError) as refusal:
        multi_head_attention(normal(3, 8), *w, n_heads=4, n_kv_heads=2)
    assert f"{name} must have shape {needed}" in str(refusal.value)
    assert "not (8, 6)" in str(refusal.value)
    w[place] = np.full(needed, np.nan)
    with pytest.raises(ValueError, match=f"{name} holds NaN"):
        multi_head_attention(normal(3, 8), *w, n_heads=4, n_kv_heads=2)


def test_head_counts_that_do_not_divide_are_refused_with_both_numbers():
    with pytest.raises(ValueError, match="d_model 8 cannot be split into 3 equal"):
        multi_head_attention(normal(3, 8), *layer(8), n_heads=3)
    with pytest.raises(ValueError, match="n_heads 4 cannot be split into 3 equal"):
        multi_head_attention(normal(3, 8), *layer(8, 6), n_heads=4, n_kv_heads=3)
    with pytest.raises(ValueError, match="n_kv_heads must be at least 1, not 0"):
        multi_head_attention(normal(3, 8), *layer(8), n_heads=4, n_kv_heads=0)


@pytest.mark.parametrize(
    ("x_shape", "mask_shape"),
    [
        ((3, 5, 8), (2, 5, 5)),  # per text, but another number of texts
        ((3, 5, 8), (4, 5)),
        ((3, 5, 8), (3, 4, 5, 5)),  # per head, but another number of heads
        ((3, 2, 5, 8), (2, 5, 5)),  # per head or per text of the inner axis?
        ((5, 8), (3, 5, 5)),
        ((5, 8), (3, 2, 5, 5)),  # more axes than the scores
    ],
)
def test_a_mask_that_fits_no_reading_is_refused_with_all_shapes(x_shape, mask_shape):
    with pytest.raises(ValueError) as refusal:
        multi_head_attention(
            normal(*x_shape), *layer(8), n_heads=2, mask=np.ones(mask_shape, bool)
        )
    assert f"mask of shape {mask_shape} does not fit" in str(refusal.value)
    assert f"x of shape {x_shape} with 2 heads" in str(refusal.value)


def test_a_layer_refuses_masks_that_can_be_read_both_ways():
    for mask, sentence in (
        (np.ones((5, 5), int), "can be read both ways"),
        (np.zeros((5, 5)), "add such a mask"),
    ):
        with pytest.raises(ValueError, match=sentence):
            multi_head_attention(normal(2, 5, 8), *layer(8), n_heads=2, mask=mask)
