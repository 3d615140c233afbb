"""Positions: by hand, as properties, and against torch."""

from __future__ import annotations

import os
from itertools import permutations
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextual import data
from contextual.attention import attention, multi_head_attention
from contextual.masking import causal_mask
from contextual.position import (
    frequencies,
    rotate,
    rotate_half_split,
    sinusoidal,
    to_half_split,
)

# A busy machine is slow, not wrong: no example fails for the time it took.
settings.register_profile(
    "patient", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("patient")

BOTH_PAIRINGS = pytest.mark.parametrize("turn", [rotate, rotate_half_split])
# More than a float holds; the name keeps its 401 digits out of the test's name.
BIG = pytest.param(10**400, id="10**400")
# Rounding of float64 in sums of up to 64 products of numbers of size 1 to 10.
EXACT = 1e-11

places = st.integers(0, 5000)
even_sizes = st.integers(1, 32).map(lambda half: 2 * half)
seeds = st.integers(0, 2**32 - 1)


def normal(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """Random numbers that cannot be written to: a function that tries is caught."""
    values = np.random.default_rng(seed).normal(size=shape)
    values.flags.writeable = False
    return values


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="torch is not installed")


# frequencies


def test_the_first_hand_turns_one_radian_and_the_second_a_hundredth():
    np.testing.assert_allclose(frequencies(4), [1.0, 0.01], rtol=1e-15)


@pytest.mark.parametrize(("base", "slowest"), [(10_000.0, 0.0076), (100_000, 0.00082)])
def test_hands_of_a_head_of_64_run_from_57_degrees_down_to_the_slowest(base, slowest):
    degrees = np.rad2deg(frequencies(64, base))
    assert degrees.shape == (32,)
    assert degrees.dtype == np.float64
    assert degrees[0] == pytest.approx(57.2958, abs=1e-4)
    assert degrees[-1] == pytest.approx(slowest, rel=0.01)  # given to two digits


@given(even_sizes, st.floats(1.001, 1e7))
def test_every_hand_is_slower_than_the_one_before_by_one_factor(d_head, base):
    speeds = frequencies(d_head, base)
    assert speeds.shape == (d_head // 2,)
    assert speeds[0] == 1.0
    np.testing.assert_allclose(speeds[1:] / speeds[:-1], base ** (-2 / d_head))


# sinusoidal


def test_sinusoids_at_place_one_are_those_of_the_paper():
    encoding = sinusoidal(2, 4)
    np.testing.assert_array_equal(encoding[0], [0, 1, 0, 1])
    # the four numbers as printed, to their last digit
    np.testing.assert_allclose(
        encoding[1], [0.8415, 0.5403, 0.0100, 0.99995], atol=5e-5
    )


def test_sinusoids_follow_the_formula_number_by_number():
    encoding = sinusoidal(7, 10)
    for p in range(7):
        for i in range(5):
            angle = p / 10000 ** (2 * i / 10)
            # the same formula in another order of operations: last-bit differences
            assert encoding[p, 2 * i] == pytest.approx(np.sin(angle), abs=1e-14)
            assert encoding[p, 2 * i + 1] == pytest.approx(np.cos(angle), abs=1e-14)


@given(st.integers(1, 60), even_sizes)
def test_every_sinusoid_vector_has_the_same_length(seq_len, d_model):
    encoding = sinusoidal(seq_len, d_model)
    assert encoding.shape == (seq_len, d_model)
    np.testing.assert_allclose((encoding**2).sum(axis=1), d_model / 2, rtol=1e-12)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40), even_sizes)
def test_sinusoid_dot_product_depends_on_the_distance_only(p, r, k, d_model):
    encoding = sinusoidal(81, d_model)
    here = encoding[p] @ encoding[p + k]
    there = encoding[r] @ encoding[r + k]
    assert here == pytest.approx(there, abs=EXACT)


@given(st.integers(0, 40), st.integers(0, 40), even_sizes)
def test_a_step_of_k_turns_every_sinusoid_pair_by_the_same_angle(p, k, d_model):
    encoding = sinusoidal(81, d_model)
    # (sine, cosine) runs the other way round the clock than (cosine, sine)
    turned = rotate(encoding[p], -k)
    np.testing.assert_allclose(turned, encoding[p + k], atol=EXACT)


# rotate and rotate_half_split


def test_rotate_turns_neighbours_by_their_place_times_their_speed():
    x = [[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]
    turned = rotate(x, [1, 3])
    np.testing.assert_allclose(
        turned,
        [
            [np.cos(1), np.sin(1), np.cos(0.01), np.sin(0.01)],
            [-np.sin(3), np.cos(3), -np.sin(0.03), np.cos(0.03)],
        ],
        atol=1e-15,
    )


def test_half_split_turns_numbers_that_stand_half_a_head_apart():
    turned = rotate_half_split([[1.0, 0.0, 0.0, 1.0]], [1])
    np.testing.assert_allclose(
        turned, [[np.cos(1), -np.sin(0.01), np.sin(1), np.cos(0.01)]], atol=1e-15
    )


@BOTH_PAIRINGS
def test_a_quarter_turn_takes_three_o_clock_to_twelve(turn):
    # the first hand turns one radian a place, and places need not be whole numbers
    np.testing.assert_allclose(turn([1.0, 0.0], np.pi / 2), [0.0, 1.0], atol=1e-15)


@BOTH_PAIRINGS
def test_one_vector_takes_one_number_as_its_position(turn):
    x = normal(5, 8)
    together = turn(x, np.arange(5))
    for i in range(5):
        np.testing.assert_array_equal(turn(x[i], i), together[i])


@BOTH_PAIRINGS
def test_base_slows_the_later_hands_and_leaves_the_first_alone(turn):
    x = to_half_split([1.0, 0.0, 1.0, 0.0])
    if turn is rotate:
        x = [1.0, 0.0, 1.0, 0.0]
    fast, slow = turn(x, 5), turn(x, 5, base=100_000.0)
    first = [0, 1] if turn is rotate else [0, 2]
    np.testing.assert_array_equal(fast[first], slow[first])
    second = [2, 3] if turn is rotate else [1, 3]
    angle = 5 / np.sqrt(100_000)
    np.testing.assert_allclose(slow[second], [np.cos(angle), np.sin(angle)])


def test_agreement_of_the_hands_falls_with_distance_but_not_at_every_step():
    # 32 hands all pointing one way: their score is the sum of 32 cosines
    x = np.tile([1.0, 0.0], 32)
    at = {k: rotate(x, k) @ x / 32 for k in (1, 3, 6, 22, 44, 355, 710, 1000)}
    expected = [0.966, 0.800, 0.736, 0.549, 0.598, 0.225, 0.168, 0.279]
    # measured independently and written with three digits
    np.testing.assert_allclose(list(at.values()), expected, atol=5e-4)
    assert at[44] > at[22]


@BOTH_PAIRINGS
@given(seed=seeds, m=places, n=places, shift=places, d_head=even_sizes)
def test_scores_depend_on_the_distance_only(turn, seed, m, n, shift, d_head):
    q, k = normal(2, d_head, seed=seed)
    here = turn(q, m) @ turn(k, n)
    there = turn(q, m + shift) @ turn(k, n + shift)
    # angles reach 10,000 radians, known to 1e-12; times the length of q and of k
    assert here == pytest.approx(there, abs=4e-12 * np.sqrt(q @ q * (k @ k)) + 1e-14)


@BOTH_PAIRINGS
def test_scores_do_change_with_the_distance(turn):
    q = normal(64)
    assert abs(turn(q, 0) @ turn(q, 0) - turn(q, 0) @ turn(q, 1)) > 0.1


@BOTH_PAIRINGS
@given(seed=seeds, seq_len=st.integers(1, 9), d_head=even_sizes, start=places)
def test_turning_keeps_every_length(turn, seed, seq_len, d_head, start):
    x = normal(seq_len, d_head, seed=seed)
    turned = turn(x, start + np.arange(seq_len))
    assert turned.shape == x.shape
    np.testing.assert_allclose(
        np.linalg.norm(turned, axis=-1), np.linalg.norm(x, axis=-1), rtol=1e-14
    )


@BOTH_PAIRINGS
def test_position_zero_changes_nothing_at_all(turn):
    x = normal(3, 4, 16)
    np.testing.assert_array_equal(turn(x, np.zeros(4)), x)


@BOTH_PAIRINGS
@given(seed=seeds, m=places, n=places, d_head=even_sizes)
def test_turning_by_m_and_then_by_n_is_turning_by_their_sum(turn, seed, m, n, d_head):
    x = normal(d_head, seed=seed)
    np.testing.assert_allclose(turn(turn(x, m), n), turn(x, m + n), atol=EXACT)
    np.testing.assert_allclose(turn(turn(x, m), -m), x, atol=EXACT)


@given(seed=seeds, seq_len=st.integers(1, 6), d_head=even_sizes, start=places)
def test_the_two_pairings_agree_after_the_permutation(seed, seq_len, d_head, start):
    x = normal(2, seq_len, d_head, seed=seed)
    positions = start + np.arange(seq_len)
    np.testing.assert_array_equal(
        rotate_half_split(to_half_split(x), positions),
        to_half_split(rotate(x, positions)),
    )


def test_the_two_pairings_disagree_without_the_permutation():
    x = normal(8)
    np.testing.assert_array_equal(rotate(x, 0), rotate_half_split(x, 0))
    for position in range(1, 50):
        difference = rotate(x, position) - rotate_half_split(x, position)
        assert np.abs(difference).max() > 0.1


def test_scores_are_wrong_when_queries_and_keys_use_different_pairings():
    q, k = normal(2, 64)
    for m, n in ((1, 2), (5, 3), (100, 40)):
        right = rotate(q, m) @ rotate(k, n)
        mixed = rotate(q, m) @ rotate_half_split(k, n)
        # the score of two random vectors of 64 numbers spreads by about 8
        assert abs(right - mixed) > 0.1


@BOTH_PAIRINGS
def test_angles_are_exact_for_float32_vectors_at_far_positions(turn):
    x = normal(8000, 64).astype(np.float32)
    turned = turn(x, np.arange(8000, dtype=np.int32))
    assert turned.dtype == np.float32
    exact = turn(x.astype(np.float64), np.arange(8000))
    # One rounding to float32: 6e-8 of the number. Angles in float32 give 1e-3.
    np.testing.assert_allclose(turned, exact, rtol=1e-6, atol=1e-7)


@BOTH_PAIRINGS
def test_float32_scores_hardly_move_over_8000_places(turn):
    q, k = normal(2, 64).astype(np.float32)
    starts = np.arange(0, 8000, 7)
    queries = turn(np.tile(q, (len(starts), 1)), starts + 3)
    keys = turn(np.tile(k, (len(starts), 1)), starts)
    scores = (queries * keys).sum(axis=-1)
    # 64 products of size 1 in float32; with angles in float32 the spread is 4e-3
    assert np.ptp(scores) < 3e-5


@BOTH_PAIRINGS
def test_float32_positions_are_turned_as_if_they_were_whole_numbers(turn):
    x = normal(4, 8)
    positions = np.array([1000, 2000, 4000, 8000])
    np.testing.assert_array_equal(
        turn(x, positions.astype(np.float32)), turn(x, positions)
    )


@BOTH_PAIRINGS
@pytest.mark.parametrize("prompt", [1, 2, 7])
def test_words_added_later_are_turned_as_in_the_full_text_with_the_offset(turn, prompt):
    x = normal(2, 10, 8)
    full = turn(x, np.arange(10))
    later = turn(x[:, prompt:], np.arange(prompt, 10))
    np.testing.assert_array_equal(later, full[:, prompt:])
    without_offset = turn(x[:, prompt:], np.arange(10 - prompt))
    assert np.abs(without_offset - full[:, prompt:]).max() > 0.1


@BOTH_PAIRINGS
def test_every_text_can_have_its_own_positions(turn):
    x = normal(2, 3, 5, 8)  # (B, H, T, d_head)
    positions = np.array([[0, 0, 0, 1, 2], [0, 1, 2, 3, 4]])
    turned = turn(x, positions[:, None, :])
    for text in range(2):
        for head in range(3):
            np.testing.assert_array_equal(
                turned[text, head], turn(x[text, head], positions[text])
            )


@BOTH_PAIRINGS
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_result_has_the_type_of_x_but_half_becomes_float32(turn, kind):
    expected = max(np.dtype(kind), np.dtype(np.float32))
    assert turn(np.ones((3, 4), kind), np.arange(3)).dtype == expected


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int32])
def test_a_base_of_any_number_type_gives_the_same_hands(kind):
    assert np.array_equal(frequencies(4, kind(100)), frequencies(4, 100))
    if kind is not np.int32:
        with pytest.raises(ValueError, match="base must be"):
            frequencies(4, kind(np.inf))


@BOTH_PAIRINGS
def test_whole_numbers_are_turned_as_float64(turn):
    turned = turn([[1, 0], [0, 1]], [1, 1])
    assert turned.dtype == np.float64
    np.testing.assert_allclose(turned[0], [np.cos(1), np.sin(1)])


@BOTH_PAIRINGS
def test_result_is_new_memory(turn):
    x = np.ones((3, 4))
    turned = turn(x, np.zeros(3))
    turned[:] = 7
    np.testing.assert_array_equal(x, np.ones((3, 4)))


@pytest.mark.parametrize("base", [10_000.0, 100_000.0, 500_000.0])
def test_rotate_is_multiplication_by_a_complex_number_as_torch_does_it(torch, base):
    x = torch.from_numpy(normal(2, 3, 50, 64).copy())
    speeds = 1.0 / base ** (torch.arange(0, 64, 2, dtype=torch.float64) / 64)
    angles = torch.outer(torch.arange(50, dtype=torch.float64), speeds)
    turned = torch.view_as_complex(x.reshape(2, 3, 50, 32, 2)) * torch.polar(
        torch.ones_like(angles), angles
    )
    expected = torch.view_as_real(turned).flatten(-2).numpy()
    np.testing.assert_allclose(rotate(x, np.arange(50), base), expected, atol=EXACT)


@pytest.mark.parametrize("base", [10_000.0, 100_000.0])
def test_half_split_is_the_rotate_half_of_torch_models(torch, base):
    x = torch.from_numpy(normal(2, 3, 50, 64).copy())
    speeds = 1.0 / base ** (torch.arange(0, 64, 2, dtype=torch.float64) / 64)
    angles = torch.outer(torch.arange(50, dtype=torch.float64), speeds)
    angles = torch.cat([angles, angles], dim=-1)
    swapped = torch.cat([-x[..., 32:], x[..., :32]], dim=-1)
    expected = (x * angles.cos() + swapped * angles.sin()).numpy()
    np.testing.assert_allclose(
        rotate_half_split(x, np.arange(50), base), expected, atol=EXACT
    )


# to_half_split


def test_to_half_split_puts_all_first_partners_before_all_second_ones():
    np.testing.assert_array_equal(
        to_half_split([[0, 1, 2, 3, 4, 5]]), [[0, 2, 4, 1, 3, 5]]
    )


@given(seed=seeds, d_head=even_sizes)
def test_to_half_split_leaves_every_score_as_it_was(seed, d_head):
    q, k = normal(2, d_head, seed=seed)
    assert to_half_split(q) @ to_half_split(k) == pytest.approx(q @ k, abs=EXACT)


# what the chapter claims: without places, with places added, with places turned


def layer(d_model: int, seed: int) -> np.ndarray[Any, Any]:
    """Four random matrices of a layer: queries, keys, values, output."""
    return normal(4, d_model, d_model, seed=seed + 1) / np.sqrt(d_model)


orders = st.integers(2, 7).flatmap(lambda n: st.permutations(range(n)))


@given(seed=seeds, order=orders, n_heads=st.sampled_from([1, 2, 4]))
def test_without_places_and_mask_swapped_words_only_swap_their_outputs(
    seed, order, n_heads
):
    x, box = normal(len(order), 8, seed=seed), layer(8, seed)
    out, _ = multi_head_attention(x, *box, n_heads=n_heads)
    shaken, _ = multi_head_attention(x[order], *box, n_heads=n_heads)
    # sums of at most 8 numbers of size 1 to 10, added up in another order
    np.testing.assert_allclose(shaken, out[order], atol=EXACT)


@given(seed=seeds, order=orders)
def test_under_a_causal_mask_the_last_word_cannot_order_those_before_it(seed, order):
    order = [*order, len(order)]
    x, box = normal(len(order), 8, seed=seed), layer(8, seed)
    mask = causal_mask(len(order))
    out, _ = multi_head_attention(x, *box, n_heads=2, mask=mask)
    shaken, _ = multi_head_attention(x[order], *box, n_heads=2, mask=mask)
    np.testing.assert_allclose(shaken[-1], out[-1], atol=EXACT)


def test_under_a_causal_mask_order_leaks_to_every_word_with_another_past():
    x, box, mask = normal(5, 8), layer(8, 0), causal_mask(5)
    swap = [0, 4, 2, 3, 1]  # The dog bites the man, The man bites the dog
    out, _ = multi_head_attention(x, *box, n_heads=2, mask=mask)
    other, _ = multi_head_attention(x[swap], *box, n_heads=2, mask=mask)
    moved = np.linalg.norm(other - out[swap], axis=-1)
    assert moved[0] == 0
    assert moved[1:].min() > 0.01  # outputs are of size 1


@given(seed=seeds, order=orders)
def test_sinusoids_added_to_the_words_tell_every_other_order(seed, order):
    hypothesis.assume(order != sorted(order))
    x, box = normal(len(order), 8, seed=seed), layer(8, seed)
    places = sinusoidal(len(order), 8)
    out, _ = multi_head_attention(x + places, *box, n_heads=2)
    shaken, _ = multi_head_attention(x[order] + places, *box, n_heads=2)
    # far above rounding (1e-14), far below the size of the outputs (1)
    assert np.abs(shaken - out[order]).max() > 1e-6


def test_added_places_make_the_score_depend_on_where_the_pair_stands():
    q, k = normal(2, 64)
    places = sinusoidal(1100, 64)
    added = [(q + places[m]) @ (k + places[m - 3]) for m in (5, 15, 1005)]
    turned = [rotate(q, m) @ rotate(k, m - 3) for m in (5, 15, 1005)]
    assert np.ptp(added) > 1
    assert np.ptp(turned) < 1e-11


@BOTH_PAIRINGS
@given(seed=seeds, m=places, n=places, d_head=even_sizes)
def test_turning_query_and_key_is_turning_the_key_by_the_difference(
    turn, seed, m, n, d_head
):
    q, k = normal(2, d_head, seed=seed)
    both, key_only = turn(q, m) @ turn(k, n), q @ turn(k, n - m)
    assert both == pytest.approx(key_only, abs=4e-12 * np.sqrt(q @ q * (k @ k)) + 1e-14)


@given(seed=seeds, place=st.floats(-5000, 5000), d_head=even_sizes)
def test_rotate_is_the_loop_over_pairs_of_the_chapter(seed, place, d_head):
    x = normal(d_head, seed=seed)
    for i in range(d_head // 2):
        a = place / 10000 ** (2 * i / d_head)
        wanted = [
            x[2 * i] * np.cos(a) - x[2 * i + 1] * np.sin(a),
            x[2 * i] * np.sin(a) + x[2 * i + 1] * np.cos(a),
        ]
        # angles up to 5000 radians, known to 1e-12, times numbers below 10
        np.testing.assert_allclose(
            rotate(x, place)[2 * i : 2 * i + 2], wanted, atol=1e-10
        )


@pytest.mark.parametrize(
    ("hand", "distance", "degrees"),
    [(0, 3, 171.9), (0, 44, 1.0), (0, 710, 0.0), (8, 3, 17.2), (31, 3, 0.0)],
)
def test_a_fast_hand_comes_back_and_a_slow_one_hardly_leaves(hand, distance, degrees):
    x = np.tile([1.0, 0.0], 32)
    pair = rotate(x, distance)[2 * hand : 2 * hand + 2]
    apart = abs(np.rad2deg(np.arctan2(pair[1], pair[0])))
    assert round(apart, 1) == degrees


# one head of SmolLM2, stored with the book


@pytest.fixture(scope="module")
def head() -> data.StoredHead:
    return data.load_head()


def test_the_stored_head_says_what_it_is(head):
    assert head.words == ("The", "fisherman", "sat", "on", "the", "river", "bank")
    assert (head.layer, head.head) == (16, 0)
    assert (head.base, head.longest) == (100_000, 8192)
    assert head.q.shape == head.k.shape == (7, 64)
    assert head.q.dtype == head.k.dtype == np.float32


def test_the_stored_head_is_what_the_model_computes(head):
    pytest.importorskip("gguf", reason="the tool is for developers only")
    from tools.build_head import LAYER, SENTENCE, queries_and_keys

    try:
        data.fetch_model()
    except (OSError, RuntimeError, ValueError) as reason:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"SmolLM2 is not here and cannot be fetched: {reason}")
    from contextual.model import load_model

    token_ids = data.load_tokenizer().encode(SENTENCE)
    q, k = queries_and_keys(load_model(), token_ids, LAYER)
    # 16 layers in float32 on another machine: about 1e-5 of numbers up to 15
    np.testing.assert_allclose(q[head.head], head.q, atol=1e-3)
    np.testing.assert_allclose(k[head.head], head.k, atol=1e-3)


@given(seed=seeds, start=st.integers(0, 8000), reader=st.integers(0, 6))
def test_real_scores_do_not_move_with_the_pair(head, seed, start, reader):
    q, k = head.q.astype(np.float64), head.k.astype(np.float64)
    read, distance = seed % 7, seed % 40
    here = rotate(q[reader], distance, head.base) @ k[read]
    there = rotate(q[reader], start + distance, head.base) @ rotate(
        k[read], start, head.base
    )
    # products of vectors up to 25 and 20 long at angles known to 1e-12
    assert here == pytest.approx(there, abs=1e-9)


@pytest.mark.parametrize("reader", [2, 3, 4, 5, 6])
def test_the_real_head_likes_a_word_best_one_place_before(head, reader):
    q, k = head.q.astype(np.float64), head.k.astype(np.float64)
    scores = [rotate(q[reader], d, head.base) @ k[reader - 1] for d in range(-60, 61)]
    assert np.argmax(scores) == 61  # distance 1
    wrong = [rotate_half_split(q[reader], d, head.base) @ k[reader - 1] for d in (0, 1)]
    assert wrong[0] == pytest.approx(scores[60])
    assert wrong[1] < scores[61] - 8  # in scores divided by √64: more than 1


def test_in_every_order_that_begins_with_the_each_word_reads_the_one_before(head):
    q, k = head.q.astype(np.float64), head.k.astype(np.float64)
    for rest in permutations(range(1, 7)):
        positions = np.array([0, *rest])
        queries, keys = (rotate(x, positions, head.base) for x in (q, k))
        _, weights = attention(queries, keys, k)
        order = np.argsort(positions)
        np.testing.assert_array_equal(weights[order].argmax(-1)[1:], order[:-1])


def test_with_everybody_at_one_place_the_real_head_only_sees_the_first_word(head):
    queries, keys = (rotate(x, np.zeros(7), head.base) for x in (head.q, head.k))
    _, weights = attention(queries, keys, head.k)
    assert (weights.argmax(axis=-1) == 0).all()


def test_twelve_hands_of_the_real_model_never_come_round(head):
    angles = head.longest * frequencies(64, head.base)
    assert (angles < 2 * np.pi).sum() == 12
    assert np.rad2deg(angles[-1]) == pytest.approx(6.73, abs=0.005)  # two digits


# refusals


@pytest.mark.parametrize("size", [1, 3, 5, 63])
def test_an_odd_size_is_refused_by_name_and_number(size):
    x = np.ones((2, size))
    for call in (
        lambda: frequencies(size),
        lambda: rotate(x, [0, 1]),
        lambda: rotate_half_split(x, [0, 1]),
        lambda: to_half_split(x),
    ):
        with pytest.raises(ValueError, match=f"d_head must be even.* not {size}"):
            call()
    with pytest.raises(ValueError, match=f"d_model must be even.* not {size}"):
        sinusoidal(4, size)


@pytest.mark.parametrize("size", [0, -2, 2.0, True, "4", None])
def test_a_size_that_is_no_positive_whole_number_is_refused(size):
    with pytest.raises(ValueError, match="d_head must be"):
        frequencies(size)
    with pytest.raises(ValueError, match="d_model must be"):
        sinusoidal(4, size)
    with pytest.raises(ValueError, match="seq_len must be"):
        sinusoidal(size, 4)


@pytest.mark.parametrize("base", [1, 1.0, 0, -10_000.0, np.inf, np.nan, "1e4", BIG])
def test_a_base_that_gives_no_slower_hands_is_refused(base):
    for call in (
        lambda: frequencies(4, base),
        lambda: rotate(np.ones((1, 4)), [0], base),
        lambda: rotate_half_split(np.ones((1, 4)), [0], base),
    ):
        with pytest.raises(ValueError, match="base must be a finite number above 1"):
            call()


@BOTH_PAIRINGS
@pytest.mark.parametrize("count", [1, 4, 6])
def test_positions_of_the_wrong_number_are_refused_with_both_numbers(turn, count):
    with pytest.raises(ValueError, match=f"positions has {count} for 5"):
        turn(np.ones((2, 5, 4)), np.arange(count))


@BOTH_PAIRINGS
def test_one_position_for_several_words_is_refused(turn):
    with pytest.raises(ValueError, match="positions has a single position for 5"):
        turn(np.ones((5, 4)), 3)


@BOTH_PAIRINGS
@pytest.mark.parametrize("n_heads", [2, 3])
def test_positions_per_text_need_an_axis_for_the_heads(turn, n_heads):
    x = np.ones((2, n_heads, 5, 4))
    positions = np.zeros((2, 5))
    # with two heads and two texts numpy would read one row per head
    with pytest.raises(ValueError, match=r"positions\[:, None, :\]"):
        turn(x, positions)
    assert turn(x, positions[:, None, :]).shape == x.shape
    assert turn(x, positions[None, :1]).shape == x.shape


@BOTH_PAIRINGS
def test_positions_with_more_texts_than_x_are_refused(turn):
    with pytest.raises(ValueError, match=r"\(3, 5\) do not fit x of shape \(5, 4\)"):
        turn(np.ones((5, 4)), np.zeros((3, 5)))


@BOTH_PAIRINGS
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_positions_and_vectors_must_be_finite(turn, bad):
    with pytest.raises(ValueError, match="positions holds NaN or infinity"):
        turn(np.ones((2, 4)), [0, bad])
    with pytest.raises(ValueError, match="x holds NaN or infinity"):
        turn([[1, 1], [bad, 1]], [0, 1])


@BOTH_PAIRINGS
def test_empty_and_non_numeric_input_is_refused(turn):
    with pytest.raises(ValueError, match="x is empty"):
        turn(np.ones((0, 4)), [])
    with pytest.raises(ValueError, match="x is empty"):
        turn(np.ones((2, 0)), [0, 1])
    with pytest.raises(ValueError, match="x must hold real numbers"):
        turn([["a", "b"]], [0])
    with pytest.raises(ValueError, match="positions must hold real numbers"):
        turn(np.ones((2, 4)), [True, False])
    with pytest.raises(ValueError, match="x needs at least 1 dimension"):
        turn(3.0, 0)
    with pytest.raises(ValueError, match="x is empty"):
        to_half_split([])
