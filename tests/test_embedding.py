"""Rows of the table: by hand, by property, and torch's nn.Embedding."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextual.embedding import lookup, one_hot

RNG = np.random.default_rng(0)
TABLE = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])


def test_lookup_takes_the_rows_that_the_ids_name():
    assert lookup(TABLE, [2, 0, 2]).tolist() == [[4, 5], [0, 1], [4, 5]]
    assert lookup(TABLE, 1).tolist() == [2, 3]


def test_one_hot_has_a_single_one_at_the_place_of_the_id():
    assert one_hot([2, 0], 3).tolist() == [[0, 0, 1], [1, 0, 0]]
    assert one_hot(1, 3).tolist() == [0, 1, 0]
    assert one_hot(1, 3).dtype == np.float64


@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=1))
def test_a_row_is_one_hot_times_matrix_exactly(ids):
    table = RNG.normal(size=(10, 4))
    assert np.array_equal(one_hot(ids, 10) @ table, lookup(table, ids))


def test_lookup_keeps_leading_axes_and_the_type_and_copies():
    table = TABLE.astype(np.float32)
    rows = lookup(table, [[0, 1], [1, 2]])
    assert rows.shape == (2, 2, 2) and rows.dtype == np.float32
    rows[:] = 9
    assert table.max() == 5


def test_renumbering_ids_with_their_rows_changes_nothing():
    new_number = RNG.permutation(len(TABLE))
    moved = np.empty_like(TABLE)
    moved[new_number] = TABLE
    ids = np.array([0, 2, 1, 1])
    assert np.array_equal(lookup(moved, new_number[ids]), lookup(TABLE, ids))


def test_rows_and_gradient_agree_with_torch():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    table, ids = RNG.normal(size=(10, 4)), np.array([[3, 1], [3, 9]])
    layer = torch.nn.Embedding.from_pretrained(torch.tensor(table), freeze=False)
    rows = layer(torch.tensor(ids))
    assert np.array_equal(rows.detach().numpy(), lookup(table, ids))
    (rows**2).sum().backward()
    ours = one_hot(ids, 10).reshape(-1, 10).T @ (2 * lookup(table, ids)).reshape(-1, 4)
    assert np.allclose(layer.weight.grad.numpy(), ours, atol=1e-12)


@pytest.mark.parametrize("bad", [[-1], [3], [[0, 99]]])
def test_an_id_that_is_no_row_is_refused_with_both_sides(bad):
    wrong = str(max(np.ravel(bad), key=abs))
    for call in (lambda: lookup(TABLE, bad), lambda: one_hot(bad, 3)):
        with pytest.raises(ValueError, match=f"{wrong}.*0 to 2"):
            call()


@pytest.mark.parametrize("bad", [[], [0.0], ["a"], [True], None, [[0], [0, 1]]])
def test_ids_that_are_not_whole_numbers_are_refused(bad):
    for call in (lambda: lookup(TABLE, bad), lambda: one_hot(bad, 3)):
        with pytest.raises(ValueError, match="token_ids"):
            call()


@pytest.mark.parametrize("bad", [0, -3, 2**70, 1.5, True, None])
def test_a_vocabulary_of_no_possible_size_is_refused(bad):
    with pytest.raises(ValueError, match="vocab_size"):
        one_hot([0], bad)


@pytest.mark.parametrize("bad", [np.ones(3), np.ones((2, 2, 2)), [], [["a"]]])
def test_a_table_that_is_not_rows_of_numbers_is_refused(bad):
    with pytest.raises(ValueError, match="table"):
        lookup(bad, [0])
