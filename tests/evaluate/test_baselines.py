import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sayso.evaluate.baselines import (
    Constants,
    NoReading,
    RelationRates,
    baseline_figures,
    baselines_of,
    choose,
    gains,
)
from sayso.evaluate.evaluation import Evaluation
from sayso.evaluate.report import make_report, report_html
from sayso.metrics.precision_recall import average_precision, compare_curves, sort_scores
from sayso.store.marks import marks_of_store
from sayso.store.store import Store
from sayso.store.table import BagTable
from toy_table import HEAD, TAIL, Pair, table_of

NUM_RELATIONS = 3
TYPE_E = np.array([0, 1, 0, 1, 0], np.uint8)

A_SENTENCE = (HEAD, 7, TAIL)
TRAIN = table_of(Pair(0, 1, (0,)), Pair(0, 3, (0,)), Pair(2, 3), Pair(1, 0, (1,)))


def odds(part: BagTable, train: BagTable = TRAIN) -> dict[str, np.ndarray]:
    rows = NoReading(train, TYPE_E, NUM_RELATIONS).rows
    return {name: np.exp(score(part, Constants(smoothing=5.0, exponent=1.0))) for name, score in rows.items()}


def test_the_four_baselines_are_the_odds_computed_by_hand() -> None:
    found = odds(table_of(Pair(2, 1, sentences=(A_SENTENCE,) * 3)))
    assert list(found) == ["types", "size", "names", "types + size"]
    # Overall, with half a fact in one bag added: 2.5, 1.5 and 0.5 facts in 5 bags, the rates 0.5, 0.3 and 0.1.
    # Three training bags have the types (0, 1), two of them relation 0: (2 + 5 · 0.5) of 3 + 5.
    types = [4.5 / 3.5, 1.5 / 6.5, 0.5 / 7.5]
    np.testing.assert_allclose(found["types"], [types])
    np.testing.assert_allclose(found["types + size"], [[3 * each for each in types]])
    np.testing.assert_allclose(found["size"], [[3 * 0.5 / 0.5, 3 * 0.3 / 0.7, 3 * 0.1 / 0.9]])
    # Head 2 has one training bag without relation 0, tail 1 has one with it: (0 + 2.5) and (1 + 2.5) of 1 + 5.
    np.testing.assert_allclose(found["names"][0, 0], (2.5 / 3.5) * (3.5 / 2.5) / (0.5 / 0.5))


def test_what_training_never_had_gets_the_overall_rate() -> None:
    rates = RelationRates(TRAIN, NUM_RELATIONS)
    np.testing.assert_allclose(rates.by_key(np.array([4, 4, 5, 6]), np.array([9]), 5.0), [[0.5, 0.3, 0.1]])
    np.testing.assert_allclose(odds(table_of(Pair(4, 4)))["names"], [[0.5 / 0.5, 0.3 / 0.7, 0.1 / 0.9]])


def test_a_row_takes_the_constants_that_are_best_on_validation() -> None:
    # The relation holds for the larger bag of one pair of types, and for the smaller one of another.
    label_BR = np.array([[True], [False]])
    validation = table_of(Pair(0, 1, sentences=(A_SENTENCE,)), Pair(2, 1, sentences=(A_SENTENCE,) * 4))

    def score(part: BagTable, constants: Constants) -> np.ndarray:
        return np.array([[1.5], [0.0]]) + constants.exponent * np.log(part.size_B)[:, None]

    assert choose(["exponent"], score, validation, label_BR).exponent == 1.0
    larger_first = choose(["exponent"], score, validation, ~label_BR)
    assert larger_first.exponent == 1.5
    assert larger_first.smoothing == Constants().smoothing


def test_without_validation_facts_the_constants_are_the_defaults() -> None:
    empty = table_of()
    assert choose(["penalty"], lambda *_: pytest.fail("nothing to score"), empty, np.zeros((0, 1), bool)) == Constants()


def test_empty_parts_have_scores_of_no_bags() -> None:
    assert all(score.shape == (0, NUM_RELATIONS) for score in odds(table_of()).values())
    assert all(np.isfinite(score).all() for score in odds(TRAIN, train=table_of()).values())


def test_types_are_told_apart_however_many_there_are() -> None:
    # As bytes, 200 · 256 and 100 · 256 would both be 0.
    type_E = np.array([200, 100, 255], np.uint8)
    train = table_of(Pair(0, 2, (0,)), Pair(1, 2))
    types = NoReading(train, type_E, NUM_RELATIONS).types(train, Constants())
    assert types[0, 0] > types[1, 0]


PAIRS = st.lists(
    st.builds(
        Pair,
        head=st.integers(0, 4),
        tail=st.integers(0, 4),
        relations=st.sets(st.integers(0, NUM_RELATIONS - 1)).map(tuple),
        sentences=st.integers(1, 4).map(lambda num: (A_SENTENCE,) * num),
    ),
    min_size=1,
    max_size=8,
)


def reworded(pair: Pair) -> Pair:
    return pair._replace(sentences=tuple((8, TAIL, 9, HEAD) for _ in pair.sentences))


@settings(max_examples=50, deadline=None)
@given(train=PAIRS, part=PAIRS)
def test_scores_depend_on_neither_texts_nor_labels_nor_other_bags_of_the_part(
    train: list[Pair], part: list[Pair]
) -> None:
    found = odds(table_of(*part), table_of(*train))
    other = odds(table_of(*map(reworded, part)), table_of(*map(reworded, train)))
    unlabelled = odds(table_of(*(pair._replace(relations=()) for pair in part)), table_of(*train))
    alone = odds(table_of(part[-1]), table_of(*train))
    for name, score_BR in found.items():
        np.testing.assert_array_equal(score_BR, other[name])
        np.testing.assert_array_equal(score_BR, unlabelled[name])
        np.testing.assert_array_equal(score_BR[-1:], alone[name])


def test_the_report_has_a_row_for_each_baseline_and_each_runs_reading_gain(
    evaluations: list[Evaluation], store: Store
) -> None:
    report = make_report(evaluations, marks_of_store(store, "test"))
    figures = json.loads(json.dumps(report.figures, allow_nan=False))
    rows = {row["baseline"]: row["relations"] for row in figures["baselines"] if not row["reads_sentences"]}
    assert list(rows) == ["types", "size", "names", "types + size"]
    readers = {row["baseline"]: row["relations"] for row in figures["baselines"] if row["reads_sentences"]}
    assert list(readers) == ["logistic regression"]
    constants = {row["baseline"]: set(row["constants"]) for row in figures["baselines"]}
    assert constants["types + size"] == {"smoothing", "exponent"}
    assert constants["logistic regression"] == {"penalty"}
    best = max(row["average_precision"] for row in rows.values())
    for run in figures["runs"]:
        gain, over = run["reading_gain"], run["gain_over_logistic_regression"]
        precision = run["relations"]["average_precision"]["value"]
        assert rows[gain["baseline"]]["average_precision"] == best
        assert gain["value"] == pytest.approx(precision - best)
        assert over["value"] == pytest.approx(precision - readers["logistic regression"]["average_precision"])
        assert all(each["low"] <= each["high"] for each in (gain, over))
    page = report_html(report)
    for name in ("reading gain", *rows, *readers):
        assert f">{name}<" in page


def test_baselines_are_measured_on_the_runs_facts(evaluations: list[Evaluation], store: Store) -> None:
    run = evaluations[0]
    baselines, label_BR = baselines_of(store, run.subject.table), run.subject.label_BR
    figures = baseline_figures(baselines, label_BR, 0)
    assert {row["relations"]["num_facts"] for row in figures} == {12}
    # The types of the toy corpus tell its relations: a fact that no one could read is all that is missed.
    missed = baseline_figures(baselines, label_BR, 4)
    assert figures[0]["relations"]["average_precision"] == 1.0
    assert missed[0]["relations"]["average_precision"] == 12 / 16


def test_gains_are_paired_with_the_resamples_of_the_bags(evaluations: list[Evaluation], store: Store) -> None:
    run = evaluations[0]
    baselines = baselines_of(store, run.subject.table)
    rows = baseline_figures(baselines, run.subject.label_BR, 0)
    both = gains(evaluations, baselines, rows)
    best = next(each for each in baselines if each.name == both[0]["reading_gain"]["baseline"])
    first, second = (sort_scores(score_BR, run.subject.label_BR) for score_BR in (run.logit_BR, best.score_BR))
    expected = compare_curves(first, second, average_precision, run.settings.num_resamples)
    assert expected.interval is not None
    found = both[0]["reading_gain"]
    assert (found["value"], found["p_value"]) == (expected.value, expected.p_value)
    assert (found["low"], found["high"]) == expected.interval
    assert gains(evaluations[:1], baselines, rows) == both[:1]
    without = replace(run, settings=replace(run.settings, num_resamples=0))
    assert gains([without], baselines, rows)[0]["reading_gain"]["low"] is None
