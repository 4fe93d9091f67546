from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sayso.serve.predictions.query import FactQuery


@given(
    q=st.text(max_size=20),
    relation=st.text(max_size=20),
    low=st.floats(0, 1),
    page=st.integers(1, 1000),
    label=st.sampled_from(["", "yes", "no"]),
)
def test_a_link_asks_for_the_same_again(q: str, relation: str, low: float, page: int, label: str) -> None:
    query = FactQuery(q=q, relation=relation, min_probability=low, page=page, label=label)  # type: ignore[arg-type]
    assert FactQuery.model_validate(dict(parse_qsl(query.link(), keep_blank_values=True))) == query


def test_an_empty_field_of_a_form_asks_for_nothing() -> None:
    assert FactQuery.model_validate({"min_probability": "", "label": "", "page": ""}) == FactQuery()


def test_what_cannot_be_is_refused() -> None:
    for values in ({"min_probability": "2"}, {"sort": "colour"}, {"page": "0"}, {"min_probability": "nan"}):
        with pytest.raises(ValidationError):
            FactQuery.model_validate(values)


def test_words_are_looked_for_in_any_case_and_joined_or_not() -> None:
    assert FactQuery(q=" El_Paso TEXAS ").terms == ["el", "paso", "texas"]
