import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.errors import BadInputError
from sayso.train.kb_prior import KbPrior, Taken, fit_kb_prior, taken_outside_fold


def test_a_fact_of_another_fold_takes_its_object_and_its_subject_but_not_one_of_the_same_fold() -> None:
    # Fold 0: (1, 2); fold 1: (1, 3), (4, 2) and (1, 5), of which the last has no relation.
    pair_B2 = np.array([[1, 2], [1, 3], [4, 2], [1, 5]])
    label_BR = np.array([[True, False], [True, False], [True, True], [False, False]])
    taken = taken_outside_fold(pair_B2, np.array([0, 1, 1, 1]), label_BR)
    assert taken.object_BR.tolist() == [[True, False], [True, False], [False, False], [True, False]]
    assert taken.subject_BR.tolist() == [[True, True], [False, False], [True, False], [False, False]]


@given(st.integers(0, 1000))
def test_what_is_taken_is_what_a_loop_over_all_facts_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pair_B2, fold_B, label_BR = rng.integers(0, 4, (12, 2)), rng.integers(0, 3, 12), rng.random((12, 2)) < 0.4
    taken = taken_outside_fold(pair_B2, fold_B, label_BR)
    for row in range(12):
        for relation in range(2):
            others = [pair_B2[o] for o in range(12) if fold_B[o] != fold_B[row] and label_BR[o, relation]]
            assert taken.object_BR[row, relation] == any(head == pair_B2[row, 0] for head, _ in others)
            assert taken.subject_BR[row, relation] == any(tail == pair_B2[row, 1] for _, tail in others)


def drawn(weight: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, Taken]:
    """Return facts of one relation that are true less often if the object is taken, by this weight."""
    rng = np.random.default_rng(seed)
    logit_BR, taken_BR = rng.normal(-1.0, 1.5, (6_000, 1)), rng.random((6_000, 1)) < 0.5
    label_BR = rng.random((6_000, 1)) < 1 / (1 + np.exp(-logit_BR - weight * taken_BR))
    return logit_BR, label_BR, np.ones(6_000), Taken(taken_BR, rng.random((6_000, 1)) < 0.5)


def test_the_weights_that_made_the_facts_are_found() -> None:
    prior = fit_kb_prior(*drawn(-2.0))
    assert prior.object_R == pytest.approx(-2.0, abs=0.2)
    assert prior.subject_R == pytest.approx(0.0, abs=0.2)


def test_being_taken_never_counts_for_a_fact() -> None:
    prior = fit_kb_prior(*drawn(1.5))
    assert prior.object_R.tolist() == [0.0]
    assert (prior.subject_R <= 0).all()


def test_a_relation_without_facts_hardly_has_weights() -> None:
    nothing = np.zeros((0, 2))
    prior = fit_kb_prior(nothing, nothing > 0, np.zeros(0), Taken(nothing > 0, nothing > 0))
    assert [each.tolist() for each in prior] == [[0.0, 0.0], [0.0, 0.0]]


def test_logits_are_lowered_by_the_weights_of_what_is_taken() -> None:
    prior = KbPrior(np.array([-1.0, -2.0]), np.array([-0.5, 0.0]))
    taken = Taken(np.array([[True, False]]), np.array([[True, True]]))
    assert prior.logits(np.array([[3.0, 3.0]]), taken).tolist() == [[1.5, 3.0]]


def test_it_is_read_as_it_was_written_and_a_damaged_one_is_refused() -> None:
    prior = KbPrior(np.array([-1.0, 0.0]), np.array([0.0, -0.25]))
    again = KbPrior.from_table(prior.to_table(), 2)
    assert [each.tolist() for each in again] == [each.tolist() for each in prior]
    for table in ({}, {"another_object": [0.5, 0.0], "another_subject": [0.0, 0.0]}, {"another_object": [0.0]}):
        with pytest.raises(BadInputError, match="invalid kb_prior"):
            KbPrior.from_table(table, 2)


def test_several_runs_have_their_mean_weights() -> None:
    mean = KbPrior.mean([KbPrior(np.array([-1.0]), np.array([0.0])), KbPrior(np.array([-3.0]), np.array([-1.0]))])
    assert [each.tolist() for each in mean] == [[-2.0], [-0.5]]
