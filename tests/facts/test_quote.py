from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.errors import BadInputError
from sayso.facts.html import plain_text, styled_quote
from sayso.facts.quote import (
    REASONS,
    WRONG_ENTITY,
    DecidedQuote,
    Quote,
    quote_from_dict,
    quote_of,
    quote_to_dict,
    read_reasons,
    with_decisions,
)
from sayso.readers.base import BadLineError
from sayso.records import Mention, Sentence, Source, Span
from toy_facts import TOLD, make_decided_quote

SPANS = st.lists(st.builds(Span, st.integers(0, 9), st.integers(0, 9)), max_size=2).map(tuple)
WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)
SOURCES = st.none() | st.builds(Source, WORDS, st.integers(0, 99), st.integers(0, 99), st.just(()), st.just(()))
QUOTES = st.builds(
    Quote,
    *(WORDS, WORDS, WORDS, st.integers(1, 99), st.floats(-9, 9), st.just(""), SOURCES, SPANS, SPANS),
    *(st.none() | st.floats(0, 1), st.just(""), st.just("")),
)


@given(QUOTES)
def test_a_quote_comes_back_as_it_was_written(quote: Quote) -> None:
    assert quote_from_dict(quote_to_dict(quote)) == quote
    decided = make_decided_quote(quote=quote)
    assert DecidedQuote.from_json(decided.to_json()) == decided


def test_an_editor_would_name_the_antecedent_of_a_pronoun_and_the_quote_stays_as_it_is() -> None:
    sentence = Sentence.from_text("In 1900 he joined the company, then Acme.", "he", "the company")
    head, tail = Mention("e", "Albert Einstein", sentence.head.spans), Mention("a", "Acme", sentence.tail.spans)
    quote = quote_of(sentence._replace(head=head, tail=tail), 1, 0.5)
    assert quote.sentence == sentence.text
    assert quote.edited(head.name, tail.name) == "In 1900 he [Albert Einstein] joined the company [Acme] , then Acme ."
    shown = plain_text(styled_quote(quote, head.name, tail.name))
    assert shown == quote.edited(head.name, tail.name)
    assert quote.edited("he", "the company") == quote.sentence


def test_a_mention_with_the_full_name_needs_no_antecedent() -> None:
    sentence = Sentence.from_text("Ada Diaz said she left Rome", "Ada Diaz", "Rome")
    mention = sentence.head._replace(spans=(*sentence.head.spans, Span(3, 4)))
    quote = quote_of(sentence._replace(head=mention), 1, 0.5)
    assert quote.edited("Ada Diaz", "Rome") == quote.sentence


def test_files_of_earlier_versions_have_neither_spans_nor_probabilities() -> None:
    record = quote_to_dict(TOLD)
    old = {name: record[name] for name in ("rank", "score", "prefix", "exact", "suffix", "document")}
    assert quote_from_dict(old) == TOLD._replace(mark="")


@pytest.mark.parametrize("spans", [[[1]], [[1, -1]], [["a", 2]], "ab", [[True, 2]]])
def test_spans_of_another_form_are_refused(spans: object) -> None:
    with pytest.raises(BadLineError, match="'head' is not a list of spans"):
        quote_from_dict(quote_to_dict(TOLD) | {"head": spans})


@given(st.data())
def test_spans_are_the_characters_of_the_mentions(data: st.DataObject) -> None:
    words = data.draw(st.lists(st.text("ab'", min_size=1, max_size=3), min_size=2, max_size=12))
    head, tail = data.draw(st.lists(st.integers(0, len(words) - 1), min_size=2, max_size=2, unique=True))
    glued, curly = (data.draw(st.sets(st.integers(1, len(words) - 1)).map(sorted).map(tuple)) for _ in range(2))
    mentions = (Mention(name, name, (Span(place, place + 1),)) for name, place in (("h", head), ("t", tail)))
    quote = quote_of(Sentence(tuple(words), *mentions, source=Source("d", 5, 9, glued, curly)), 1, 0.0)
    ((head_start, head_stop),), ((tail_start, tail_stop),) = quote.head_spans, quote.tail_spans
    assert quote.sentence[head_start:head_stop].replace("’", "'") == words[head].replace("’", "'")
    assert quote.sentence[tail_start:tail_stop].replace("’", "'") == words[tail].replace("’", "'")


def test_decisions_are_put_on_the_quotes_with_their_sentence() -> None:
    other = TOLD._replace(prefix="Never ", rank=2)
    decided = {TOLD.sentence: make_decided_quote(quote=TOLD, reason="negated")}
    told, untouched = with_decisions((TOLD, other), decided)
    assert (told.decision, told.reason, told.is_rejected) == ("rejected", "negated", True)
    assert untouched == other


def test_reasons_are_read_once_each_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "reasons.txt"
    path.write_text("too old\n\n wrong entity (head) \ntoo old\n")
    assert read_reasons(path) == ("too old", "wrong entity (head)")
    path.write_text(f"{'x' * 200}\n")
    with pytest.raises(BadInputError, match=r"reasons\.txt:1: longer than 100 characters"):
        read_reasons(path)
    assert set(WRONG_ENTITY) <= set(REASONS)
