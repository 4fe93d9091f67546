import json

import pytest

from extract.toy_facts import make_found
from sayso.facts.extracted import FoundFact
from sayso.records import SUPPORT_LABELS, Support


def test_a_record_says_what_the_prediction_rests_on_under_support() -> None:
    record = make_found(support=Support("several_sentences", 1, 0.9, 0.8, 0.1)).to_dict()
    assert record["support"]["kind"] == "several_sentences"
    assert "verdict" not in record


@pytest.mark.parametrize("num_enough", [None, 14])
def test_the_count_of_sentences_that_are_each_enough_is_read_again(num_enough: int | None) -> None:
    fact = make_found(support=Support("several_sentences", 1, 0.9, 0.8, 0.1, num_enough))
    assert FoundFact.from_json(fact.to_json()) == fact


def test_lines_without_the_count_of_sentences_are_still_read() -> None:
    fact = make_found(support=Support("several_sentences", 1, 0.9, 0.8, 0.1))
    record = fact.to_dict()
    del record["support"]["num_enough"]
    assert FoundFact.from_json(json.dumps(record)) == fact


@pytest.mark.parametrize(
    ("old", "num_smallest", "kind"),
    [
        ("stated", 1, "one_sentence"),
        ("stated", 3, "sentences_together"),
        ("repeated", 1, "several_sentences"),
        ("no_sentence", 0, "not_sentences"),
        ("not_predicted", 0, "not_predicted"),
    ],
)
def test_lines_that_call_it_a_verdict_are_still_read(old: str, num_smallest: int, kind: str) -> None:
    fact = make_found(support=Support(kind, num_smallest, 0.9, 0.1, 0.01))
    record = fact.to_dict()
    record["verdict"] = record.pop("support") | {"kind": old}
    assert FoundFact.from_json(json.dumps(record)) == fact
    assert kind in SUPPORT_LABELS
