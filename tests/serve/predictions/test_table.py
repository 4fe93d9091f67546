from collections.abc import Callable
from urllib.parse import parse_qsl

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sayso.serve.fact_table import PAGE_SIZE
from sayso.serve.predictions.run import RunPredictions, differences
from sayso.serve.predictions.table import DifferenceQuery, DifferenceRow, PredictionQuery, PredictionRow

KEYS: dict[str, Callable[[PredictionRow], object]] = {
    "probability": lambda row: row.probability,
    "faithfulness": lambda row: row.faithfulness,
    "disagreement": lambda row: row.disagreement,
    "sentences": lambda row: row.num_sentences,
    "relation": lambda row: row.relation,
    "head": lambda row: row.head_name.lower(),
    "tail": lambda row: row.tail_name.lower(),
}


def all_rows(run: RunPredictions, query: PredictionQuery = PredictionQuery()) -> list[PredictionRow]:
    return run.index.rows(run.index.find_all(query))


@pytest.mark.parametrize("sort", KEYS)
def test_facts_come_in_the_order_asked_for_and_ties_in_that_of_the_run(run: RunPredictions, sort: str) -> None:
    rows = [run.index.rows(np.array([number]))[0] for number in range(run.index.num_facts)]
    down = all_rows(run, PredictionQuery(sort=sort, order="down"))  # type: ignore[arg-type]
    assert down == sorted(rows, key=KEYS[sort], reverse=True)  # type: ignore[arg-type]
    up = all_rows(run, PredictionQuery(sort=sort, order="up"))  # type: ignore[arg-type]
    assert [KEYS[sort](row) for row in up] == [KEYS[sort](row) for row in reversed(down)]


@pytest.mark.parametrize(
    ("query", "fits"),
    [
        (PredictionQuery(relation="capital"), lambda row: row.relation == "capital"),
        (PredictionQuery(label="yes"), lambda row: row.is_label),
        (PredictionQuery(label="no"), lambda row: not row.is_label),
        (PredictionQuery(support="several_sentences"), lambda row: row.support == "several_sentences"),
        (PredictionQuery(min_probability=0.3, max_probability=0.7), lambda row: 0.3 <= row.probability <= 0.7),
        (PredictionQuery(min_disagreement=0.5), lambda row: row.disagreement >= 0.5),
        (PredictionQuery(max_faithfulness=0.2), lambda row: row.faithfulness <= 0.2),
        (PredictionQuery(q="LAND12"), lambda row: "land12" in row.head_name or "land12" in row.tail_name),
        (PredictionQuery(q="town14 ada", label="yes"), lambda row: row.is_label and row.head_name == "ada_14"),
        (PredictionQuery(relation="unheard of"), lambda row: False),
    ],
)
def test_a_filter_keeps_what_fits_and_nothing_else(
    run: RunPredictions, query: PredictionQuery, fits: Callable[[PredictionRow], bool]
) -> None:
    assert all_rows(run, query) == [row for row in all_rows(run) if fits(row)]


def test_pages_together_are_all_facts(run: RunPredictions) -> None:
    first = run.index.page(PredictionQuery())
    assert first.num_found == run.index.num_facts
    assert first.num_pages == -(-first.num_found // PAGE_SIZE)
    rows = [row for page in range(1, first.num_pages + 1) for row in run.index.page(PredictionQuery(page=page)).rows]
    assert rows == all_rows(run)


def test_a_page_behind_the_last_is_the_last(run: RunPredictions) -> None:
    last = run.index.page(PredictionQuery(page=9_999))
    assert last.page == last.num_pages
    assert last.rows


def test_a_fact_is_found_by_its_bag_and_relation(run: RunPredictions) -> None:
    for row in all_rows(run):
        assert run.index.find(row.bag, row.relation) == row.number
    assert run.index.find(10**9, "capital") is None
    assert run.index.find(0, "unheard of") is None


@given(
    q=st.text(max_size=20),
    relation=st.text(max_size=20),
    low=st.floats(0, 1),
    page=st.integers(1, 1000),
    label=st.sampled_from(["", "yes", "no"]),
)
def test_a_link_asks_for_the_same_again(q: str, relation: str, low: float, page: int, label: str) -> None:
    query = PredictionQuery(q=q, relation=relation, min_probability=low, page=page, label=label)  # type: ignore[arg-type]
    assert PredictionQuery.model_validate(dict(parse_qsl(query.link(), keep_blank_values=True))) == query


def test_an_empty_field_of_a_form_asks_for_nothing() -> None:
    assert PredictionQuery.model_validate({"min_probability": "", "label": "", "page": ""}) == PredictionQuery()


def test_what_cannot_be_is_refused() -> None:
    for values in ({"min_probability": "2"}, {"sort": "colour"}, {"page": "0"}, {"min_probability": "nan"}):
        with pytest.raises(ValidationError):
            PredictionQuery.model_validate(values)


def test_words_are_looked_for_in_any_case_and_joined_or_not() -> None:
    assert PredictionQuery(q=" El_Paso TEXAS ").terms == ["el", "paso", "texas"]


def stored(run: RunPredictions) -> dict[tuple[int, str], PredictionRow]:
    return {(row.bag, row.relation): row for row in all_rows(run)}


def differing(runs: list[RunPredictions], query: DifferenceQuery = DifferenceQuery()) -> list[DifferenceRow]:
    table = differences(runs[0], runs[1])
    return table.rows(table.find_all(query))


def test_runs_differ_on_the_facts_that_only_one_of_them_predicts(runs: list[RunPredictions]) -> None:
    predicted = [{key for key, row in stored(run).items() if row.probability >= run.threshold} for run in runs]
    rows = differing(runs)
    assert {(row.bag, row.relation) for row in rows} == predicted[0] ^ predicted[1] != set()
    assert len(rows) == len(predicted[0] ^ predicted[1])


def test_a_difference_has_both_probabilities_or_the_threshold_of_a_run_that_did_not_store_the_fact(
    runs: list[RunPredictions],
) -> None:
    rows = differing(runs)
    for row in rows:
        there = [stored(run).get((row.bag, row.relation)) for run in runs]
        sides = [each and each.probability for each in there]
        assert [row.left, row.right] == sides
        known = [run.threshold if side is None else side for run, side in zip(runs, sides, strict=True)]
        assert row.difference == pytest.approx(abs(known[0] - known[1]))
        source = there[0 if row.left is not None and row.left >= runs[0].threshold else 1]
        assert source
        assert (row.triple, row.support, row.is_label) == (source.triple, source.support, source.is_label)
    assert {row.left is None for row in rows} == {True, False}
    assert [row.difference for row in rows] == sorted((row.difference for row in rows), reverse=True)


def test_differences_are_filtered_by_the_run_that_predicts_them(runs: list[RunPredictions]) -> None:
    rows = differing(runs)
    left = [row for row in rows if row.left is not None and row.left >= runs[0].threshold]
    assert differing(runs, DifferenceQuery(left="one", right="two", only="left")) == left
    assert differing(runs, DifferenceQuery(only="right")) == [row for row in rows if row not in left]
    assert differing(runs, DifferenceQuery(label="no")) == [row for row in rows if not row.is_label]
    assert differing(runs[:1] * 2) == []


def test_withheld_facts_are_left_out_of_a_page(runs: list[RunPredictions]) -> None:
    table, (first, *rest) = differences(runs[0], runs[1]), differing(runs)
    page = table.page(DifferenceQuery(), {first.triple})
    assert page.num_found == len(rest)
    assert page.rows == rest[:PAGE_SIZE]
