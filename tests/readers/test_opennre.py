import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readers.strategies import sentences
from sayso.readers.base import BadLineError
from sayso.readers.opennre import parse, split_at, write
from sayso.records import Mention, Sentence, Span

TEXT = {
    "text": "Ana's son was born in Rome.",
    "h": {"id": "Q1", "name": "Ana", "pos": [0, 3]},
    "t": {"id": "Q2", "name": "Rome", "pos": [22, 26]},
    "relation": "/born",
}
TOKEN = {
    "token": ["Ana", "was", "born", "in", "Rome", "."],
    "h": {"id": "Q1", "name": "Ana", "pos": [0, 1]},
    "t": {"id": "Q2", "name": "Rome", "pos": [4, 5]},
    "relation": "/born",
}


def changed(record: Mapping[str, object], **changes: object) -> str:
    return json.dumps({**record, **changes})


def test_text_is_split_at_white_space_and_at_the_edges_of_mentions() -> None:
    sentence = parse(json.dumps(TEXT))
    assert sentence.tokens == ("Ana", "'s", "son", "was", "born", "in", "Rome", ".")
    assert (sentence.head.spans, sentence.tail.spans) == (((0, 1),), ((6, 7),))


def test_positions_of_tokens_count_tokens() -> None:
    assert parse(json.dumps(TOKEN)).tail == Mention("Q2", "Rome", (Span(4, 5),))


def test_a_token_with_a_space_in_it_becomes_two_and_positions_move() -> None:
    sentence = parse(changed(TOKEN, token=["Ana", "", "1 1/2", "in", "Rome", "."]))
    assert sentence.tokens == ("Ana", "1", "1/2", "in", "Rome", ".")
    assert sentence.tail.spans == ((4, 5),)


def test_without_id_the_name_is_the_id() -> None:
    assert parse(changed(TOKEN, h={"name": "Ana", "pos": [0, 1]})).head.entity_id == "Ana"


@pytest.mark.parametrize("record", [TEXT, TOKEN], ids=["text", "token"])
def test_without_pos_the_mention_is_found_by_name(record: Mapping[str, object]) -> None:
    expected = parse(json.dumps(record))
    assert parse(changed(record, h={"id": "Q1", "name": "Ana"})).head.spans == expected.head.spans


def test_punctuation_does_not_hide_a_further_occurrence_in_a_text() -> None:
    sentence = parse(changed(TEXT, text="Ana's son was born in Rome, Rome; Anabel too."))
    assert sentence.tail.spans == ((6, 7), (8, 9))
    assert "Anabel" in sentence.tokens


def test_without_pos_a_name_inside_the_other_mention_does_not_count() -> None:
    tokens = ["New", "York", "City", "in", "New", "York"]
    line = changed(TOKEN, token=tokens, h={"name": "New York City", "pos": [0, 3]}, t={"name": "New York"})
    assert parse(line).tail.spans == ((4, 6),)


def test_the_same_words_elsewhere_are_mentions_too() -> None:
    assert parse(changed(TOKEN, token=["Ana", "and", "Ana", "in", "Rome", "."])).head.spans == ((0, 1), (2, 3))


@pytest.mark.parametrize("name", ["NA", "no_relation", "Other"])
def test_na_by_any_name_is_no_relation(name: str) -> None:
    assert parse(changed(TOKEN, relation=name)).relations == ()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("not json", "not JSON"),
        ("[1]", "not an object"),
        (changed(TOKEN, h=3), "'h' is a number, not an object"),
        (changed(TOKEN, h={"name": 3}), "'name' is a number, not a string"),
        (changed(TOKEN, h={"pos": [0, 1]}), "the head has neither an id nor a name"),
        (changed(TOKEN, h={"name": "Ana", "pos": [0, 9]}), r"head mention \[0, 9\] lies outside the 6 tokens"),
        (changed(TOKEN, h={"name": "Ana", "pos": [0]}), "not a pair of integers"),
        (changed(TOKEN, h={"name": "Ana", "pos": [0, True]}), "not a pair of integers"),
        (changed(TOKEN, h={"name": "Ana", "pos": [0, 5]}), "overlaps"),
        (changed(TEXT, t={"name": "Rome", "pos": [22, 99]}), r"\[22, 99\] lies outside the 27 characters"),
        (changed(TEXT, t={"name": "Rome", "pos": [9, 10]}), "contains only white space"),
        (changed(TOKEN, token=["Ana", 3]), "not a list of strings"),
        (changed(TOKEN, token=[]), "the sentence is empty"),
        (changed(TOKEN, relation=["/born"]), "'relation' is a list"),
        (changed({}, h={}, t={}), "'text' is missing"),
        ('{"h": "\\ud800", "t": 1}', "half of a character"),
        ("[" * 100_000, "nested too deeply"),
        ('{"h": ' + "9" * 5000 + "}", "too many digits"),
    ],
)
def test_the_error_says_what_is_wrong(line: str, reason: str) -> None:
    with pytest.raises(BadLineError, match=reason):
        parse(line)


@given(sentence=sentences())
def test_written_lines_keep_words_pair_and_relations(sentence: Sentence) -> None:
    lines = write(sentence).split("\n")
    back = [parse(line) for line in lines]
    assert {(s.tokens, s.pair, s.head.name, s.tail.name) for s in back} == {
        (sentence.tokens, sentence.pair, sentence.head.name, sentence.tail.name)
    }
    assert tuple(relation for s in back for relation in s.relations) == sentence.relations
    assert all(sentence.head.spans[0] in s.head.spans and sentence.tail.spans[0] in s.tail.spans for s in back)


def test_a_sentence_with_two_relations_is_two_lines() -> None:
    sentence = parse(json.dumps(TOKEN))._replace(relations=("/born", "/lived"))
    assert [json.loads(line)["relation"] for line in write(sentence).split("\n")] == ["/born", "/lived"]


@given(text=st.text("ab .", min_size=1, max_size=12), data=st.data())
def test_spans_hold_the_characters_they_stand_for(text: str, data: st.DataObject) -> None:
    edges = st.integers(0, len(text))
    stretches = data.draw(st.lists(st.tuples(edges, edges), max_size=3))
    try:
        tokens, spans = split_at(text, stretches)
    except BadLineError:
        assert any(not text[start:stop].strip() for start, stop in stretches)
        return
    assert "".join(tokens) == "".join(text.split())
    for (start, stop), span in zip(stretches, spans, strict=True):
        assert "".join(tokens[span.start : span.stop]) == "".join(text[start:stop].split())
