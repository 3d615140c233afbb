"""Masks: by hand, as properties, and against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextual.attention import attention
from contextual.masking import (
    causal_mask,
    left_padding_mask,
    padding_mask,
    positions_after_padding,
)
from contextual.position import rotate, sinusoidal

# A busy machine is slow, not wrong: no example fails for the time it took.
settings.register_profile(
    "patient", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("patient")

LENGTH_FUNCTIONS = pytest.mark.parametrize(
    "of_lengths", [padding_mask, left_padding_mask, positions_after_padding]
)


@st.composite
def batches(draw):
    seq_len = draw(st.integers(1, 8))
    lengths = draw(st.lists(st.integers(0, seq_len), min_size=1, max_size=4))
    return lengths, seq_len


def normal(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).normal(size=shape)


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="torch is not installed")


# causal_mask


def test_causal_mask_of_three_words_by_hand():
    mask = causal_mask(3)
    assert mask.dtype == np.bool_
    np.testing.assert_array_equal(
        mask, [[True, False, False], [True, True, False], [True, True, True]]
    )


@given(st.integers(1, 30))
def test_word_i_may_look_at_j_exactly_where_j_is_not_later(seq_len):
    mask = causal_mask(seq_len)
    assert mask.shape == (seq_len, seq_len)
    for i in range(seq_len):
        for j in range(seq_len):
            assert mask[i, j] == (j <= i)


@given(st.integers(1, 12), st.integers(1, 12))
def test_the_newest_words_use_the_last_rows_of_the_mask(n_keys, n_new):
    n_new = min(n_new, n_keys)
    q, k, v = normal(3, n_keys, 4)
    full, _ = attention(q, k, v, causal_mask(n_keys))
    newest, _ = attention(q[-n_new:], k, v, causal_mask(n_keys)[-n_new:])
    # another number of rows may add in another order: float64 rounding
    np.testing.assert_allclose(newest, full[-n_new:], atol=1e-14)


def test_causal_mask_hides_the_future_exactly():
    q, k, v = normal(3, 6, 4)
    _, weights = attention(q, k, v, causal_mask(6))
    assert (weights[np.triu_indices(6, k=1)] == 0.0).all()
    assert (weights[np.tril_indices(6)] > 0.0).all()
    assert weights[0, 0] == 1.0


def test_causal_mask_is_the_inverse_of_torchs(torch):
    hidden = torch.nn.Transformer.generate_square_subsequent_mask(9) == -np.inf
    np.testing.assert_array_equal(causal_mask(9), ~hidden.numpy())


@pytest.mark.parametrize("seq_len", [0, -1, 2.0, True, "3", None, [3]])
def test_a_length_that_is_no_positive_whole_number_is_refused(seq_len):
    with pytest.raises(ValueError, match="seq_len must be"):
        causal_mask(seq_len)
    with pytest.raises(ValueError, match="seq_len must be"):
        padding_mask([1], seq_len)
    with pytest.raises(ValueError, match="seq_len must be"):
        left_padding_mask([1], seq_len)
    with pytest.raises(ValueError, match="seq_len must be"):
        positions_after_padding([1], seq_len)


# padding masks and the positions that go with them


def test_padding_masks_and_positions_of_two_texts_by_hand():
    np.testing.assert_array_equal(
        padding_mask([3, 1], 3), [[[True, True, True]], [[True, False, False]]]
    )
    np.testing.assert_array_equal(
        left_padding_mask([3, 1], 3), [[[True, True, True]], [[False, False, True]]]
    )
    np.testing.assert_array_equal(
        positions_after_padding([4, 2, 0], 4), [[0, 1, 2, 3], [0, 0, 0, 1], [0] * 4]
    )


@given(batches())
def test_masks_count_real_words_at_the_start_or_at_the_end(batch):
    lengths, seq_len = batch
    right, left = padding_mask(lengths, seq_len), left_padding_mask(lengths, seq_len)
    positions = positions_after_padding(lengths, seq_len)
    assert right.dtype == left.dtype == np.bool_
    assert positions.dtype == np.int64
    assert right.shape == left.shape == (len(lengths), 1, seq_len)
    assert positions.shape == (len(lengths), seq_len)
    for b, length in enumerate(lengths):
        pads = seq_len - length
        assert right[b, 0].tolist() == [True] * length + [False] * pads
        assert left[b, 0].tolist() == [False] * pads + [True] * length
        assert positions[b].tolist() == [0] * pads + list(range(length))


@given(batches())
def test_joined_masks_hide_the_future_and_the_filler_of_each_text(batch):
    lengths, seq_len = batch
    for mask, is_real in (
        (padding_mask, lambda j, length: j < length),
        (left_padding_mask, lambda j, length: j >= seq_len - length),
    ):
        joined = causal_mask(seq_len) & mask(lengths, seq_len)
        assert joined.shape == (len(lengths), seq_len, seq_len)
        for b, length in enumerate(lengths):
            for i in range(seq_len):
                for j in range(seq_len):
                    assert joined[b, i, j] == (j <= i and is_real(j, length))


def test_a_padding_mask_hides_from_readers_per_text_even_when_texts_equal_words():
    # three texts of three words: a (B, T) mask would be taken for a (T, S) one
    q, k, v = normal(3, 3, 3, 4)
    _, weights = attention(q, k, v, padding_mask([1, 2, 3], 3))
    for b, length in enumerate([1, 2, 3]):
        assert (weights[b, :, length:] == 0).all()
        assert (weights[b, :, :length] > 0).all()


def test_one_pad_on_the_left_leaves_the_first_row_nowhere_to_look():
    q, k, v = normal(3, 1, 3, 4)
    mask = causal_mask(3) & left_padding_mask([2], 3)
    with np.errstate(all="raise"):
        output, weights = attention(q, k, v, mask)
    np.testing.assert_array_equal(weights[0, 0], [0, 0, 0])
    np.testing.assert_array_equal(output[0, 0], [0, 0, 0, 0])
    np.testing.assert_array_equal(weights[0, 1], [0, 1, 0])
    assert (weights[0, 2] > 0).tolist() == [False, True, True]


def test_a_text_of_filler_only_gets_zeros():
    q, k, v = normal(3, 2, 3, 4)
    for mask in (padding_mask, left_padding_mask):
        output, weights = attention(q, k, v, mask([0, 3], 3))
        np.testing.assert_array_equal(output[0], np.zeros((3, 4)))
        assert (weights[1] > 0).all()


@given(batches(), st.integers(0, 2**32 - 1))
def test_padding_on_either_side_gives_the_vectors_of_the_unpadded_text(batch, seed):
    lengths, seq_len = batch
    n_texts, n_heads = len(lengths), 2
    # filler is large noise: a single look at it would show
    q, k, v = 50 * normal(3, n_texts, n_heads, seq_len, 8, seed=seed)
    left = [slice(seq_len - n, seq_len) for n in lengths]
    right = [slice(0, n) for n in lengths]
    texts = [normal(3, n_heads, n, 8, seed=seed + b) for b, n in enumerate(lengths)]
    for where, mask, positions in (
        (
            left,
            left_padding_mask(lengths, seq_len),
            positions_after_padding(lengths, seq_len)[:, None],  # (B, 1, T)
        ),
        (right, padding_mask(lengths, seq_len), np.arange(seq_len)),
    ):
        for b, text in enumerate(texts):
            q[b, :, where[b]], k[b, :, where[b]], v[b, :, where[b]] = text
        joined = (causal_mask(seq_len) & mask)[:, None]  # (B, 1, T, T)
        padded, _ = attention(rotate(q, positions), rotate(k, positions), v, joined)
        for b, (q_text, k_text, v_text) in enumerate(texts):
            n = lengths[b]
            if n == 0:
                continue
            alone, _ = attention(
                rotate(q_text, np.arange(n)),
                rotate(k_text, np.arange(n)),
                v_text,
                causal_mask(n),
            )
            # other shapes may add in another order: float64 rounding
            np.testing.assert_allclose(padded[b, :, where[b]], alone, atol=1e-12)


def test_turned_pairs_forgive_unshifted_positions_and_sinusoids_do_not():
    # scores of turned pairs depend on the distance only; added vectors do not
    q, k, v = normal(3, 1, 5, 8)
    mask = causal_mask(5) & left_padding_mask([3], 5)
    shifted, plain = positions_after_padding([3], 5), np.arange(5)
    here, _ = attention(rotate(q, shifted), rotate(k, shifted), v, mask)
    there, _ = attention(rotate(q, plain), rotate(k, plain), v, mask)
    np.testing.assert_allclose(here, there, atol=1e-12)
    table = sinusoidal(5, 8)
    here, _ = attention(q + table[shifted], k + table[shifted], v, mask)
    there, _ = attention(q + table[plain], k + table[plain], v, mask)
    assert np.abs(here - there).max() > 0.01


def test_padded_batches_agree_with_torch_key_padding(torch):
    attend = torch.nn.MultiheadAttention(8, 2, bias=False, batch_first=True).eval()
    eye = torch.eye(8)
    attend.in_proj_weight.data = torch.cat([eye, eye, eye])
    attend.out_proj.weight.data = eye
    x = normal(3, 4, 8).astype(np.float32)
    real = padding_mask([4, 1, 3], 4)
    batch = torch.from_numpy(x)
    expected, _ = attend(
        *(batch, batch, batch),
        key_padding_mask=torch.from_numpy(~real[:, 0]),  # (B, T), True = filler
    )
    heads = x.reshape(3, 4, 2, 4).transpose(0, 2, 1, 3)  # (B, H, T, d_head)
    output, _ = attention(heads, heads, heads, real[:, None])
    merged = output.transpose(0, 2, 1, 3).reshape(3, 4, 8)
    # float32 sums of 4 and of 8 products of size 1
    np.testing.assert_allclose(merged, expected.detach().numpy(), atol=1e-5)


# refusals


@LENGTH_FUNCTIONS
@pytest.mark.parametrize("length", [-1, 6, 100])
def test_a_length_outside_the_text_is_refused_with_both_numbers(of_lengths, length):
    with pytest.raises(ValueError, match=f"length {length} does not fit seq_len 5"):
        of_lengths([3, length], 5)


@LENGTH_FUNCTIONS
@pytest.mark.parametrize("lengths", [3, [], [[1, 2]], np.ones((2, 2), int)])
def test_lengths_are_a_list_with_one_number_per_text(of_lengths, lengths):
    with pytest.raises(ValueError, match="one length per text, not shape"):
        of_lengths(lengths, 5)


@LENGTH_FUNCTIONS
@pytest.mark.parametrize("lengths", [[1.0], [True, False], ["2"], [None], [np.nan]])
def test_lengths_that_are_no_whole_numbers_are_refused(of_lengths, lengths):
    with pytest.raises(ValueError, match="lengths must be whole numbers"):
        of_lengths(lengths, 5)


@LENGTH_FUNCTIONS
def test_ragged_lengths_are_refused(of_lengths):
    with pytest.raises(ValueError, match="lengths is not a list of numbers"):
        of_lengths([[1], [1, 2]], 5)


@LENGTH_FUNCTIONS
def test_small_integer_types_do_not_overflow(of_lengths):
    # 200 − 100 and −1 are outside what uint8 can subtract
    lengths = np.array([100, 200], np.uint8)
    np.testing.assert_array_equal(of_lengths(lengths, 300), of_lengths([100, 200], 300))
