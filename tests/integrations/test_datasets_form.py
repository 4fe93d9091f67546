import json

import datasets
import pytest

from sayso.errors import BadInputError
from sayso.facts.fact import ExtractedFact
from sayso.integrations.datasets_form import facts_dataset, sentences_dataset, sentences_of
from sayso.records import Source
from toy import make_sentence
from toy_facts import make_extracted

SENTENCES = [
    make_sentence("h lives in t", relations=("lives",)),
    make_sentence("t and h , h and t")._replace(source=Source("d", 1, 20)),
    make_sentence("h 's t .")._replace(source=Source("d", 30, 36, (1, 3), (1,))),
]


def test_sentences_survive_the_round_trip() -> None:
    dataset = sentences_dataset(SENTENCES)
    assert set(dataset.column_names) == {"tokens", "head", "tail", "relations", "document", "expresses"}
    assert list(sentences_of(dataset)) == SENTENCES


def test_rows_without_original_spacing_are_read() -> None:
    dataset = sentences_dataset(SENTENCES[:2])
    assert set(dataset[1]["document"]) == {"id", "start", "stop"}
    assert list(sentences_of(dataset)) == SENTENCES[:2]


def test_rows_of_opennre_are_read() -> None:
    rows = [
        {"token": ["h", "in", "t"], "h": {"id": "h", "pos": [0, 1]}, "t": {"id": "t", "pos": [2, 3]}, "relation": "r"}
    ]
    (sentence,) = sentences_of(datasets.Dataset.from_list(rows))
    assert (sentence.pair, sentence.relations) == (("h", "t"), ("r",))


def test_facts_become_a_dataset() -> None:
    facts = [make_extracted(), make_extracted(quotes=())]
    assert [ExtractedFact.from_json(json.dumps(row)) for row in facts_dataset(facts)] == facts


def test_a_row_that_cannot_be_read_is_named() -> None:
    rows = [{"text": "h in t", "head": {"name": name}, "tail": {"name": "t"}} for name in ("h", "x")]
    with pytest.raises(BadInputError, match="row 1 of the dataset: head mention 'x' is not in the sentence"):
        list(sentences_of(datasets.Dataset.from_list(rows)))
    with pytest.raises(BadInputError, match="match no known format"):
        list(sentences_of([{"words": "h in t"}]))
