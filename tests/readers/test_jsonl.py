import json

import pytest
from hypothesis import given

from readers.strategies import sentences
from sayso.readers import jsonl
from sayso.readers.base import BadLineError
from sayso.readers.jsonl import parse, write
from sayso.records import Mention, Sentence, Source, Span
from steps import growth

RECORD = {
    "tokens": ["ana", "was", "born", "in", "rome"],
    "head": {"id": "m.1", "name": "ana", "spans": [[0, 1]]},
    "tail": {"id": "m.2", "name": "rome", "spans": [[4, 5]]},
    "relations": ["/born", "/lived"],
}


def changed(**changes: object) -> str:
    return json.dumps({**RECORD, **changes})


@given(sentence=sentences())
def test_every_sentence_is_read_back_the_same(sentence: Sentence) -> None:
    line = write(sentence)
    assert "\n" not in line
    assert parse(line) == sentence


def test_spans_are_taken_as_they_are_given() -> None:
    tokens = ["ana", "met", "ana", "in", "rome"]
    assert parse(changed(tokens=tokens)).head.spans == ((0, 1),)


def test_without_spans_every_occurrence_is_found() -> None:
    tokens = ["ana", "met", "ana", "in", "rome"]
    assert parse(changed(tokens=tokens, head={"id": "m.1", "name": "ana"})).head.spans == ((0, 1), (2, 3))


def test_text_is_split_at_white_space() -> None:
    record = {key: value for key, value in RECORD.items() if key != "tokens"}
    assert parse(json.dumps({**record, "text": " ana was  born in rome "})).tokens == tuple(RECORD["tokens"])


def test_a_missing_name_is_the_words_and_a_missing_id_the_name() -> None:
    sentence = parse(changed(head={"spans": [[0, 2]]}))
    assert sentence.head[:2] == ("ana was", "ana was")


def test_without_relations_there_are_none_and_na_is_not_one() -> None:
    record = {key: value for key, value in RECORD.items() if key != "relations"}
    assert parse(json.dumps(record)).relations == ()
    assert parse(changed(relations=["NA", "/born"])).relations == ("/born",)


def test_document_and_expresses_are_kept() -> None:
    sentence = parse(changed(document={"id": "d7", "start": 3, "stop": 30}, expresses=1))
    assert sentence.source == Source("d7", 3, 30)
    assert sentence.expresses == 1.0


def test_how_the_document_writes_the_tokens_is_kept_and_left_out_where_it_says_nothing() -> None:
    place = {"id": "d7", "start": 3, "stop": 30}
    sentence = parse(changed(document={**place, "glued": [1, 4], "curly": [4]}))
    assert sentence.source == Source("d7", 3, 30, (1, 4), (4,))
    assert parse(changed(document={**place, "glued": [], "curly": None})).source == Source("d7", 3, 30)
    assert json.loads(write(sentence))["document"] == {**place, "glued": [1, 4], "curly": [4]}
    assert json.loads(write(sentence._replace(source=Source("d7", 3, 30))))["document"] == place


@pytest.mark.parametrize(
    "numbers", [3, "1", {}, False, [1, "2"], [True], [1.0], [2, 1], [1, 1], [[1]], [None], [0], [-1]]
)
@pytest.mark.parametrize("key", ["glued", "curly"])
def test_token_indices_are_increasing_integers(key: str, numbers: object) -> None:
    with pytest.raises(BadLineError, match=f"'document' '{key}' must be an increasing list of integers ≥ 1"):
        parse(changed(document={"id": "d", "start": 0, "stop": 9, key: numbers}))


@pytest.mark.parametrize("numbers", [[5], [1, 2**70]])
def test_token_indices_lie_inside_the_sentence(numbers: list[int]) -> None:
    with pytest.raises(BadLineError, match="'document' 'glued' points beyond the 5 tokens of the sentence"):
        parse(changed(document={"id": "d", "start": 0, "stop": 9, "glued": numbers}))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"head": 3}', "'text' is missing"),
        (changed(tokens="ana in rome"), "must be a non-empty list of strings"),
        (changed(tokens=["ana", 3]), "a token is not a string"),
        (changed(tokens=["ana", "", "rome"]), "a token is empty or contains white space"),
        (changed(tokens=["ana was", "rome"]), "a token is empty or contains white space"),
        (changed(head=None), "'head' is null"),
        (changed(head="ana"), "'head' is a string, not an object"),
        (changed(head={"id": "m.1", "spans": 3}), "head 'spans' is not a list"),
        (changed(head={"id": "m.1", "spans": [3]}), "a span of the head mention is not"),
        (changed(head={"id": "m.1", "spans": [[3, 7]]}), r"head mention \[3, 7\] lies outside the 5 tokens"),
        (changed(head={"id": "m.1", "spans": [[2, 3], [0, 1]]}), "out of order"),
        (changed(head={"id": "m.1", "spans": [[3, 5]]}), "the head and tail mentions overlap"),
        (changed(head={"id": "m.1", "name": "oslo"}), "head mention 'oslo' is not in the sentence"),
        (
            changed(tail={"name": "born", "id": "x"}, head={"id": "y", "spans": [[1, 3]]}),
            "only inside the other mention",
        ),
        (changed(relations="/born"), "'relations' is not a list of strings"),
        (changed(relations=[""]), "a relation's name is empty"),
        (changed(expresses="yes"), "'expresses' is a string, not a number"),
        (changed(expresses=1.5), "'expresses' is 1.5, not a number from 0 to 1"),
        (changed(expresses=float("nan")), "'expresses' is nan"),
        (changed(expresses=True), "'expresses' is true or false"),
        (changed(document={"id": "d", "start": 5, "stop": 3}), "not in order"),
        (changed(document={"id": "d", "start": 5}), "not a pair of integers"),
        (changed(document=7), "'document' is a number"),
    ],
)
def test_the_error_says_what_is_wrong(line: str, reason: str) -> None:
    with pytest.raises(BadLineError, match=reason):
        parse(line)


def test_checking_thousands_of_given_spans_takes_linear_time() -> None:
    def read_many(num: int) -> None:
        head, tail = ([[i, i + 1] for i in range(first, 2 * num, 2)] for first in (0, 1))
        record = {"tokens": ["x"] * 2 * num, "head": {"id": "a", "spans": head}, "tail": {"id": "b", "spans": tail}}
        assert len(parse(json.dumps(record)).tail.spans) == num

    assert growth(read_many, 50) < 6


def test_lines_of_one_sentence_are_read_back_as_the_sentences_of_its_pairs() -> None:
    ana, rome = Mention("m.1", 'Ana "D" Díaz', (Span(0, 1), Span(3, 4))), Mention("m.2", "Rome", (Span(2, 3),))
    tokens, source = ("Ana", "left", "Rome", "Ana"), Source("d\\1", 5, 23, (1, 3))
    entities = {"m.1": (ana, [(5, 8), (20, 23)]), "m.2": (rome, [(14, 18)])}
    lines = jsonl.write_pairs(tokens, source, entities, [("m.1", "m.2", ("/left",)), ("m.2", "m.1", ())])
    assert [jsonl.parse(line) for line in lines] == [
        Sentence(tokens, ana, rome, ("/left",), source),
        Sentence(tokens, rome, ana, (), source),
    ]
    assert json.loads(lines[0])["head"]["places"] == [[5, 8], [20, 23]]
    assert json.loads(lines[0])["document"] == {"id": "d\\1", "start": 5, "stop": 23, "glued": [1, 3]}
