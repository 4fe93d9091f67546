from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resealed import rewrite
from sayso.errors import BadInputError
from sayso.store.table import BagTable
from sayso.store.vocabulary import Vocabulary
from sayso.train.held_out import (
    FACTS,
    HELD_OUT,
    LEAST_PROBABILITY,
    REPORT,
    HeldOutFacts,
    KbPrior,
    Taken,
    fit_kb_prior,
    held_out_facts,
    held_out_report,
    pair_key,
    read_held_out,
    taken_outside_fold,
    write_held_out,
)
from toy import group_by_pair, make_sentence


def tables() -> tuple[list[BagTable], list[str]]:
    vocabulary = Vocabulary([])
    sentences = [make_sentence(f"h{n} and t{n}", f"h{n}", f"t{n}") for n in range(4)]
    table = group_by_pair(sentences, vocabulary).table
    return [table.take_bags(np.array([0, 1])), table.take_bags(np.array([2, 3]))], list(vocabulary.entities)


def made(probability_BR: list[list[float]]) -> HeldOutFacts:
    folds, ids = tables()
    label_BR = np.array([[True, False], [False, False], [False, False], [False, True]])
    return held_out_facts(folds, ids, np.array(probability_BR), label_BR, np.array([1.0, 4.0, 1.0, 1.0]))


FIRST = [[0.9, 0.8], [0.3, 0.0], [0.5, 0.2], [0.7, 0.0005]]


def written(run: Path, facts: HeldOutFacts) -> Path:
    (run / "folds").mkdir(parents=True)
    write_held_out(run / "folds" / HELD_OUT, facts, {"num_facts": [1, 1]})
    return run


def test_known_facts_are_all_kept_and_unlabelled_ones_if_they_are_not_hopeless() -> None:
    facts = made(FIRST)
    rows = list(zip(facts.pair_Q.tolist(), facts.relation_Q.tolist(), facts.probability_Q.tolist(), strict=True))
    keys = [pair_key(f"h{n}", f"t{n}") for n in range(4)]
    # Not the other relation of a known pair, nor what is below the least probability; a known fact always.
    assert rows == [(keys[0], 0, 0.9), (keys[1], 0, 0.3), (keys[2], 0, 0.5), (keys[2], 1, 0.2), (keys[3], 1, 0.0005)]
    assert facts.is_known_Q.tolist() == [True, False, False, False, True]
    assert facts.fold_Q.tolist() == [1, 1, 2, 2, 2]
    assert facts.weight_Q.tolist() == [1, 4, 1, 1, 1]
    assert LEAST_PROBABILITY > 0.0005


def test_what_is_written_is_read_back_and_an_earlier_attempt_is_replaced(tmp_path: Path) -> None:
    run = written(tmp_path / "run", made([[0.1, 0.1]] * 4))
    write_held_out(run / "folds" / HELD_OUT, made(FIRST), {"num_facts": [1, 1]})
    found = read_held_out(run)
    assert found is not None
    assert all(np.array_equal(one, other) for one, other in zip(found, made(FIRST), strict=True))
    assert held_out_report(run)["num_facts"] == [1, 1]
    assert read_held_out(tmp_path) is None


def test_several_seeds_have_their_mean_probability(tmp_path: Path) -> None:
    second = [[0.5, 0.0], [0.0, 0.0], [0.7, 0.2], [0.1, 0.0]]
    for seed, probability_BR in ((1, FIRST), (2, second)):
        run = written(tmp_path / f"seed-{seed}", made(probability_BR))
        (run / "run.json").write_text("{}")
    found = read_held_out(tmp_path)
    assert found is not None
    by_key = dict(
        zip(zip(found.pair_Q.tolist(), found.relation_Q.tolist(), strict=True), found.probability_Q, strict=True)
    )
    assert by_key[pair_key("h0", "t0"), 0] == pytest.approx(0.7)
    # The second run gave it almost none.
    assert by_key[pair_key("h1", "t1"), 0] == pytest.approx(0.15)
    assert found.is_known_Q.sum() == 2


def test_damaged_and_impossible_values_are_refused(tmp_path: Path) -> None:
    run = written(tmp_path / "run", made(FIRST)._replace(probability_Q=np.full(5, 1.5)))
    with pytest.raises(BadInputError, match="a value is out of range"):
        read_held_out(run)
    other = written(tmp_path / "other", made(FIRST))
    path = other / "folds" / HELD_OUT / FACTS
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(BadInputError):
        read_held_out(other)
    third = written(tmp_path / "third", made(FIRST))
    rewrite(third / "folds" / HELD_OUT / REPORT, num_facts=[1])
    with pytest.raises(BadInputError, match="a value is out of range"):
        read_held_out(third)


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


def test_weights_are_read_as_they_were_written_and_damaged_ones_are_refused() -> None:
    prior = KbPrior(np.array([-1.0, 0.0]), np.array([0.0, -0.25]))
    again = KbPrior.from_table(prior.to_table(), 2)
    assert [each.tolist() for each in again] == [each.tolist() for each in prior]
    for table in ({}, {"another_object": [0.5, 0.0], "another_subject": [0.0, 0.0]}, {"another_object": [0.0]}):
        with pytest.raises(BadInputError, match="invalid kb_prior"):
            KbPrior.from_table(table, 2)


def test_several_seeds_have_their_mean_weights() -> None:
    mean = KbPrior.mean([KbPrior(np.array([-1.0]), np.array([0.0])), KbPrior(np.array([-3.0]), np.array([-1.0]))])
    assert [each.tolist() for each in mean] == [[-2.0], [-0.5]]
