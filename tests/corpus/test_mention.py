import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.corpus.base import BadLineError
from sayso.corpus.mention import find_mentions, given_mentions, locate
from sayso.records import Mention, Span

few_words = st.lists(st.sampled_from(["a", "b", "a_b", "b_a", "c"]), min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("text", "name", "spans"),
    [
        ("ana met ana", "ana", ((0, 1), (2, 3))),
        ("from el_paso to rome", "el_paso", ((1, 2),)),
        ("from el paso to rome", "el_paso", ((1, 3),)),
        ("from el_paso to rome", "el paso", ((1, 2),)),
        ("san_francisco bay", "san_francisco_bay", ((0, 2),)),
        ("anna and hannah", "ann", ()),
        ("new_york_city", "york", ()),
        ("a a a", "a a", ((0, 2),)),
        ("any words", "_", ()),
    ],
)
def test_a_name_is_found_joined_or_not_but_only_as_whole_words(
    text: str, name: str, spans: tuple[tuple[int, int], ...]
) -> None:
    assert locate(text.split(), name) == spans


@given(tokens=few_words, name=few_words.map("_".join))
def test_what_is_found_spells_the_name(tokens: list[str], name: str) -> None:
    for start, stop in locate(tokens, name):
        assert "_".join(tokens[start:stop]) == name


@given(tokens=few_words, data=st.data())
def test_what_stands_there_is_found(tokens: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(tokens) - 1))
    stop = data.draw(st.integers(start + 1, len(tokens)))
    assert locate(tokens, "_".join(tokens[start:stop]))


def test_a_name_inside_the_longer_name_does_not_count() -> None:
    tokens = ["new", "york", "city", "is", "in", "new", "york", "state"]
    head, tail = find_mentions(tokens, ("m.1", "new_york"), ("m.2", "new_york_city"))
    assert head.spans == ((5, 7),)
    assert tail.spans == ((0, 3),)


@pytest.mark.parametrize(
    ("head", "tail", "reason"),
    [
        ("oslo", "rome", "head mention 'oslo' is not in the sentence"),
        ("ana", "oslo", "tail mention 'oslo' is not in the sentence"),
        ("ana", "ana", "head and tail mention are the same words"),
    ],
)
def test_mentions_that_cannot_be_told_are_refused(head: str, tail: str, reason: str) -> None:
    with pytest.raises(BadLineError, match=reason):
        find_mentions(["ana", "in", "rome"], ("m.1", head), ("m.2", tail))


def test_given_spans_bring_the_other_occurrences_of_the_same_words() -> None:
    tokens = ["ana", "likes", "rome", "and", "rome", "likes", "ana"]
    head, tail = given_mentions(tokens, Mention("1", "Ana", (Span(0, 1),)), Mention("2", "Rome", (Span(4, 5),)))
    assert head.spans == ((0, 1), (6, 7))
    assert tail.spans == ((2, 3), (4, 5))


@pytest.mark.parametrize("span", [(2, 2), (2, 9), (-1, 1), (3, 2)])
def test_a_span_outside_the_sentence_is_refused(span: tuple[int, int]) -> None:
    with pytest.raises(BadLineError, match="lies outside the 3 tokens of the sentence"):
        given_mentions(["a", "b", "c"], Mention("1", "a", (Span(0, 1),)), Mention("2", "b", (Span(*span),)))


def test_overlapping_spans_are_refused() -> None:
    with pytest.raises(BadLineError, match="overlaps"):
        given_mentions(["a", "b", "c"], Mention("1", "a", (Span(0, 2),)), Mention("2", "b", (Span(1, 3),)))
