from collections.abc import Callable
from urllib.parse import parse_qsl

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sayso.serve.fact_table import PAGE_SIZE
from sayso.serve.predictions.run import RunPredictions
from sayso.serve.predictions.table import PredictionQuery, PredictionRow

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
