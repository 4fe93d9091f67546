import json

import pytest

from readers.shared_data import shared
from sayso.readers import READERS
from sayso.readers.base import BadLine, BadLineError
from sayso.readers.crowdtruth import parse
from sayso.readers.files import read_lines

RECORD = {
    "text": "Ana Diaz was born in Rome .",
    "head": "Ana Diaz",
    "tail": "Rome",
    "distant_relation": "per:born,per:lived",
    "workers": 15,
    "any_relation": 0.933,
    "distant_relation_seen": 0.5,
}


def changed(**changes: object) -> str:
    return json.dumps({**RECORD, **changes})


def test_relations_that_half_of_the_workers_saw_are_kept() -> None:
    sentence = parse(changed())
    assert sentence.relations == ("per:born", "per:lived")
    assert sentence.expresses == 0.933
    assert sentence.pair == ("name:ana_diaz", "name:rome")


def test_relations_that_fewer_saw_are_dropped_but_their_share_is_kept() -> None:
    sentence = parse(changed(distant_relation_seen=0.467))
    assert (sentence.relations, sentence.expresses) == ((), 0.933)


def test_quotes_left_by_a_csv_writer_are_undone() -> None:
    assert parse(changed(text='"Ana Diaz said "" Rome "" ."')).text == 'Ana Diaz said " Rome " .'


def test_quotes_of_the_sentence_stay() -> None:
    assert parse(changed(text='" Ana Diaz in Rome "')).text == '" Ana Diaz in Rome "'


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (changed(tail="Oslo"), "tail mention 'Oslo' is not in the sentence"),
        (changed(head=["Ana"]), "'head' is a list, not a string"),
        (changed(any_relation=None), "'any_relation' is null"),
        (changed(distant_relation_seen=7), "not a number from 0 to 1"),
        (changed(distant_relation="per:born,"), "a relation's name is empty"),
    ],
)
def test_the_error_says_what_is_wrong(line: str, reason: str) -> None:
    with pytest.raises(BadLineError, match=reason):
        parse(line)


def test_eight_of_the_4097_real_lines_have_an_entity_that_cannot_be_found() -> None:
    items = [item for _, item in READERS["crowdtruth"].read(read_lines(shared("direct/crowdtruth.jsonl.gz")))]
    assert len(items) == 4097
    assert sum(isinstance(item, BadLine) for item in items) == 8
