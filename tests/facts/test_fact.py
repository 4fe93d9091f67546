import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.facts.fact import DecidedFact, ExtractedFact
from sayso.facts.quote import Quote, quote_of
from sayso.records import SUPPORT_LABELS, Mention, Sentence, Source, Span, Support
from toy_facts import make_decided, make_extracted

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NOTHING = st.just(())
SOURCES = st.none() | st.builds(Source, TEXT, st.integers(0, 10**9), st.integers(0, 10**9), NOTHING, NOTHING)
UNKNOWN = (NOTHING, NOTHING, st.none(), st.just(""), st.just(""))
QUOTES = st.builds(Quote, TEXT, TEXT, TEXT, st.integers(1, 99), st.floats(-9, 9), TEXT, SOURCES, *UNKNOWN)


@given(quotes=st.lists(QUOTES, max_size=3), reason=TEXT, name=TEXT, probability=st.floats(0, 1))
def test_a_record_comes_back_as_it_was_written(quotes: list[Quote], reason: str, name: str, probability: float) -> None:
    decided = make_decided(quotes=tuple(quotes), reason=reason, head_name=name, probability=probability)
    assert DecidedFact.from_json(decided.to_json()) == decided


def sentence(text: str, head: list[tuple[int, int]], tail: list[tuple[int, int]]) -> Sentence:
    mentions = (Mention(side, side, tuple(Span(*span) for span in spans)) for side, spans in (("h", head), ("t", tail)))
    return Sentence(tuple(text.split()), *mentions)


def test_the_quote_is_the_shortest_span_that_names_both() -> None:
    quote = quote_of(sentence("h left , but later h saw t again", [(0, 1), (5, 6)], [(7, 8)]), 3, 0.25, "irrelevant")
    assert quote[:3] == ("h left , but later ", "h saw t", " again")
    assert (quote.rank, quote.score, quote.mark) == (3, 0.25, "irrelevant")


@given(st.data())
def test_prefix_quote_and_suffix_are_the_sentence_as_written(data: st.DataObject) -> None:
    words = data.draw(st.lists(st.text("ab'", min_size=1, max_size=3), min_size=2, max_size=12))
    head, tail = data.draw(st.lists(st.integers(0, len(words) - 1), min_size=2, max_size=2, unique=True))
    glued, curly = (data.draw(st.sets(st.integers(1, len(words) - 1)).map(sorted).map(tuple)) for _ in range(2))
    plain = sentence(" ".join(words), [(head, head + 1)], [(tail, tail + 1)])
    quote = quote_of(plain, 1, 0.0)
    assert quote.sentence == plain.text
    assert len(quote.exact.split()) == abs(head - tail) + 1
    quote = quote_of(written := plain._replace(source=Source("d", 5, 9, glued, curly)), 1, 0.0)
    assert quote.sentence == written.written
    assert quote.exact == quote.exact.strip()
    assert quote.source == Source("d", 5, 9)


def test_a_record_has_what_the_prediction_rests_on_as_support() -> None:
    record = make_extracted(support=Support("several_sentences", 1, 0.9, 0.8, 0.1)).to_dict()
    assert record["support"]["kind"] == "several_sentences"
    assert "verdict" not in record


@pytest.mark.parametrize("num_enough", [None, 14])
def test_the_count_of_sentences_that_are_each_enough_is_read_again(num_enough: int | None) -> None:
    fact = make_extracted(support=Support("several_sentences", 1, 0.9, 0.8, 0.1, num_enough))
    assert ExtractedFact.from_json(fact.to_json()) == fact


def test_lines_without_the_count_of_sentences_are_still_read() -> None:
    fact = make_extracted(support=Support("several_sentences", 1, 0.9, 0.8, 0.1))
    record = fact.to_dict()
    del record["support"]["num_enough"]
    assert ExtractedFact.from_json(json.dumps(record)) == fact


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
    fact = make_extracted(support=Support(kind, num_smallest, 0.9, 0.1, 0.01))
    record = fact.to_dict()
    record["verdict"] = record.pop("support") | {"kind": old}
    assert ExtractedFact.from_json(json.dumps(record)) == fact
    assert kind in SUPPORT_LABELS
