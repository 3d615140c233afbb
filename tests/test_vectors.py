"""Dot product, length, cosine and neighbours: by hand, by property, and scipy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from contextual.vectors import cosine, dot, nearest, norm, unit

RNG = np.random.default_rng(0)
NUMBERS = st.floats(-100, 100).filter(lambda x: x == 0 or abs(x) > 1e-3)
VECTORS = hnp.arrays(np.float64, 5, elements=NUMBERS)


def test_dot_norm_and_cosine_of_vectors_worked_by_hand():
    assert dot([1, 2, 3], [4, 5, 6]) == 32
    assert norm([3, 4]) == 5
    assert cosine([3, 0], [1, 1]) == pytest.approx(np.sqrt(0.5))
    assert cosine([1, 2], [2, 4]) == pytest.approx(1)
    assert cosine([1, 0], [-2, 0]) == -1


def test_a_vector_of_zeros_has_cosine_zero_and_no_nan():
    assert cosine([0, 0], [1, 1]) == 0
    assert cosine(np.zeros((2, 3)), np.ones(3)).tolist() == [0, 0]
    assert cosine([0.0], [0.0]) == 0


@pytest.mark.parametrize(
    ("kind", "size"),
    [
        (np.float16, 1e-4), (np.float16, 200), (np.float32, 1e-30), (np.float32, 1e30),
        (np.float64, 1e-170), (np.float64, 1e-100), (np.float64, 1e160),
    ],
)  # fmt: skip
def test_tiny_and_huge_vectors_have_a_length_and_a_direction(kind, size):
    a, b = np.array([3, 4], kind) * kind(size), np.array([4, 3], kind) * kind(size)
    close = 2e-3 if kind is np.float16 else 1e-6
    assert norm(a) == pytest.approx(5 * size, rel=close)
    assert cosine(a, b) == pytest.approx(0.96, rel=close)
    assert cosine(a, [1, 0]) == pytest.approx(0.6, rel=close)
    assert [row for row, _ in nearest([a, [0, 1]], b, 2)] == [0, 1]


def test_the_length_of_many_halves_is_right():
    assert norm(np.ones((4096, 2), np.float16).T).tolist() == [64, 64]


@given(VECTORS)
def test_a_unit_vector_has_length_one_and_the_same_direction(a):
    if a.any():
        assert norm(unit(a)) == pytest.approx(1)
        assert dot(unit(a), a) == pytest.approx(norm(a))
    else:
        assert not unit(a).any()


def test_whole_numbers_are_taken_as_float64():
    assert dot([1], [1]).dtype == np.float64
    assert dot([2**24 + 1], [1]) == 2**24 + 1


@given(VECTORS, VECTORS, st.floats(0.01, 100))
def test_cosine_ignores_length_and_order_and_stays_within_one(a, b, scale):
    assert -1 <= cosine(a, b) <= 1
    assert cosine(a, b) == cosine(b, a)
    assert cosine(scale * a, b) == pytest.approx(cosine(a, b), abs=1e-9)


@given(VECTORS, VECTORS, VECTORS)
def test_dot_product_adds_up(a, b, c):
    assert dot(a, b + c) == pytest.approx(dot(a, b) + dot(a, c), abs=1e-6)


def test_leading_axes_are_kept_and_broadcast():
    a, b = RNG.normal(size=(2, 4, 8)), RNG.normal(size=8)
    assert dot(a, b).shape == norm(a).shape == cosine(a, b).shape == (2, 4)
    assert cosine(a, b)[1, 2] == pytest.approx(cosine(a[1, 2], b))


def test_cosine_agrees_with_scipy():
    distance = pytest.importorskip("scipy.spatial.distance")
    for a, b in RNG.normal(size=(50, 2, 30)):
        assert cosine(a, b) == pytest.approx(1 - distance.cosine(a, b), abs=1e-12)


def test_float32_stays_float32():
    a = RNG.normal(size=(3, 4)).astype(np.float32)
    assert dot(a, a).dtype == norm(a).dtype == cosine(a, a).dtype == np.float32


def test_nearest_finds_rows_by_direction_best_first():
    table = [[1, 0], [0, 5], [3, 3], [-1, 0], [10, 1]]
    assert [row for row, _ in nearest(table, [2, 0], 3)] == [0, 4, 2]
    assert nearest(table, [2, 0], 1) == [(0, 1.0)]
    assert [row for row, _ in nearest(table, [2, 0], 9, exclude=[0, 4])] == [2, 1, 3]


def test_rows_of_zeros_never_come_ahead_of_a_real_neighbour():
    assert [row for row, _ in nearest([[0, 0], [-1, 0], [0, 0]], [1, 0], 3)] == [1]


def test_equal_rows_come_in_the_order_of_their_numbers():
    same = np.tile([1.0, 1.0], (100, 1))
    assert [row for row, _ in nearest(same, [1, 1], 100)] == list(range(100))


def test_nearest_agrees_with_sorting_every_cosine():
    table, query = RNG.normal(size=(200, 20)), RNG.normal(size=20)
    cosines = table @ query / np.linalg.norm(table, axis=1) / np.linalg.norm(query)
    expected = np.argsort(-cosines)[:10]
    found = nearest(table, query, 10)
    assert [row for row, _ in found] == expected.tolist()
    assert [c for _, c in found] == pytest.approx(cosines[expected])


def test_nothing_given_is_changed():
    table, query = RNG.normal(size=(5, 3)), RNG.normal(size=3)
    before = table.copy(), query.copy()
    nearest(table, query, 2)
    cosine(table, query)
    assert np.array_equal(table, before[0]) and np.array_equal(query, before[1])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: dot([1, 2], [1, 2, 3]), r"\(2,\).*\(3,\)"),
        (lambda: cosine(np.ones((2, 3)), np.ones((4, 3))), r"\(2, 3\).*\(4, 3\)"),
        (lambda: norm([]), "empty"),
        (lambda: norm(3.0), "dimension"),
        (lambda: norm(["a"]), "real numbers"),
        (lambda: dot([True], [True]), "real numbers"),
        (lambda: dot([1j], [1]), "real numbers"),
        (lambda: norm([[1, 2], [3]]), "not an array|ragged"),
        (lambda: nearest(np.ones((3, 2)), [1, 2, 3], 1), r"\(3,\).*\(3, 2\)"),
        (lambda: nearest(np.ones(3), [1, 2, 3], 1), "table"),
        (lambda: nearest(np.ones((3, 2)), [1, 2], 0), "k must be at least 1"),
        (lambda: nearest(np.ones((3, 2)), [1, 2], 1.5), "k must be a whole number"),
        (lambda: nearest(np.ones((3, 2)), [1, np.nan], 1), "NaN"),
        (lambda: nearest([[np.nan, 1], [1, 0]], [1, 2], 1), "table holds NaN"),
        (lambda: cosine([np.nan, 1], [1, 1]), "a holds NaN"),
        (lambda: norm([np.inf, 1]), "a holds NaN or infinity"),
        (lambda: dot(np.ma.array([1, 2], mask=[0, 1]), [1, 2]), "masked array"),
        (lambda: nearest(np.ones((3, 2)), [1, 2], 1, exclude=5), "exclude must be"),
        (lambda: nearest(np.ones((3, 2)), [1, 2], 1, exclude=["a"]), "exclude"),
        (lambda: nearest(np.ones((3, 2)), [1, 2], 1, exclude=[3]), "0 to 2"),
        (lambda: nearest(np.ones((3, 2)), [1, 2], 1, exclude=[-1]), "-1"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_a_sentence(call, says):
    with pytest.raises(ValueError, match=says):
        call()
