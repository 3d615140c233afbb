"""The check names the mistake: every named one as itself, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from contextual.checks import Exercise, check, find_exercise, judge, verdict
from contextual.mistakes import exercises

ALL = list(exercises().values())
MISTAKES = [(e, m) for e in ALL for m in e.mistakes]
RIGHTS = [(e, version) for e in ALL for version in e.rights]
names = [f"{e.name}-{m.name}" for e, m in MISTAKES]


def nothing_written(*arguments):
    """What a starter cell holds before a reader has written anything."""
    return ...


@pytest.mark.parametrize(("exercise", "mistake"), MISTAKES, ids=names)
def test_a_known_mistake_is_named_as_itself(exercise, mistake):
    found = judge(exercise, mistake.version)
    assert not found.right
    assert found.mistake == mistake.name
    assert mistake.says in found.says


@pytest.mark.parametrize(("exercise", "version"), RIGHTS)
def test_every_right_version_is_right(exercise, version):
    assert judge(exercise, version).right


@pytest.mark.parametrize("exercise", ALL, ids=[e.name for e in ALL])
def test_an_exercise_knows_six_mistakes_and_two_right_ways(exercise):
    assert len(exercise.mistakes) >= 6
    assert len(exercise.rights) >= 2


@pytest.mark.parametrize("exercise", ALL, ids=[e.name for e in ALL])
def test_nothing_written_is_said_to_be_unanswered_and_what_is_asked(exercise):
    for answer in (nothing_written, None, ..., NotImplemented):
        found = judge(exercise, answer)
        assert not found.right
        assert found.says.startswith(f"Not answered yet: {exercise.asks}")


@pytest.mark.parametrize("exercise", ALL, ids=[e.name for e in ALL])
def test_constants_and_empty_answers_are_refused(exercise):
    for answer in (0, 0.0, [], np.zeros((2, 3)), np.array([]), "", float("nan")):
        found = judge(exercise, lambda *arguments, answer=answer: answer)
        assert not found.right, answer


@pytest.mark.parametrize("exercise", ALL, ids=[e.name for e in ALL])
def test_nan_is_named_in_numbers(exercise):
    first = exercise.rights[0]

    def poisoned(*arguments):
        value = first(*arguments)
        return np.nan * value if isinstance(value, np.ndarray | float) else np.nan

    found = judge(exercise, poisoned)
    assert not found.right
    assert "NaN" in found.says


@pytest.mark.parametrize("exercise", ALL, ids=[e.name for e in ALL])
def test_lists_arrays_and_float32_are_all_accepted(exercise):
    first = exercise.rights[0]
    if not isinstance(first(*exercise.inputs[0].values()), np.ndarray):
        pytest.skip("this answer is no array")
    for form in (list, np.ndarray.tolist, lambda a: a.astype(np.float32), tuple):
        assert judge(exercise, lambda *a, form=form: form(first(*a))).right


def average(table, token_ids, pad_id):
    return table[[i for i in token_ids if i != pad_id]].mean(axis=0)


def test_the_right_shape_with_wrong_numbers_is_located():
    says = verdict("embedding-average", lambda *a: average(*a) + np.eye(3)[1]).says
    assert says.startswith("Not yet: with table = ")
    assert "[1]" in says or "right is" in says


def test_printing_instead_of_returning_is_named():
    says = verdict("embedding-average", lambda *a: print(average(*a))).says
    assert "prints" in says
    assert "return" in says


def test_an_exception_is_told_with_its_line():
    def broken(table, token_ids, pad_id):
        return table[len(table)]

    says = verdict("embedding-average", broken).says
    assert "IndexError" in says
    assert "return table[len(table)]" in says


def test_leaving_the_program_is_caught():
    def leave(table, token_ids, pad_id):
        raise SystemExit

    assert "SystemExit" in verdict("embedding-average", leave).says


def test_a_function_with_too_few_arguments_is_told_which_it_gets():
    says = verdict("embedding-average", lambda table: table).says
    assert "give it (table, token_ids, pad_id)" in says


def test_a_value_in_place_of_a_function_is_refused():
    assert "your function itself" in verdict("embedding-average", [1.0, 2.0]).says


def test_the_exercise_is_not_changed_by_an_answer_that_changes_its_arguments():
    def greedy(table, token_ids, pad_id):
        result = average(table, token_ids, pad_id)
        table[:] = 0
        return result

    found = verdict("embedding-average", greedy)
    assert found.right
    assert "it changes table" in found.says
    assert verdict("embedding-average", average).right


def test_an_unknown_name_lists_the_near_ones():
    with pytest.raises(ValueError, match="Near it: tokens-cut"):
        find_exercise("tokens-cutt")


def test_check_prints_its_sentences(capsys):
    check("embedding-average", average)
    assert capsys.readouterr().out.startswith("Right: the filler is left out")


def test_a_value_exercise_refuses_a_function():
    exercise = Exercise("x-y", "give the number.", "it is 3.", rights=[lambda: 3])
    assert judge(exercise, 3).right
    assert judge(exercise, np.float32(3)).right
    assert "wants a value" in judge(exercise, lambda: 3).says
    assert "you get 4, right is 3" in judge(exercise, 4).says
