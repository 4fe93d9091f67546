import pytest

from sayso.readers.base import BadLineError
from sayso.readers.mention import find_mentions, given_mentions
from sayso.records import Mention, Span


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
        ("ana", "ana", "head and tail mentions are the same words"),
    ],
)
def test_mentions_that_cannot_be_found_are_refused(head: str, tail: str, reason: str) -> None:
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


def test_given_mentions_that_overlap_are_named() -> None:
    head, tail = Mention("1", "Ana", (Span(0, 1), Span(3, 5))), Mention("2", "Rome", (Span(4, 5),))
    with pytest.raises(BadLineError, match=r"head mention \[3, 5\] overlaps the tail mention"):
        given_mentions(["ana"] * 6, head, tail)
