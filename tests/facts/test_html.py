import sys
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.errors import UserError
from sayso.facts import html
from sayso.facts.explanation import Evidence, Explanation
from sayso.facts.fact import Quote
from sayso.facts.html import plain_text, stated, styled_quote, styled_sentence, styled_words
from sayso.records import Sentence, Support


@pytest.fixture
def no_jinja(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    html._environment.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    yield
    html._environment.cache_clear()


def explanation(text: str, word_scores: tuple[float, ...]) -> Explanation:
    sentence = Sentence.from_text(text, "Namibia", "Windhoek")
    evidence = Evidence(sentence, {"shapley": 1.5}, 1, True, sentence.tokens, word_scores)
    return Explanation(
        head_id="h",
        head_name="Namibia",
        head_type="/country",
        relation="<b>capital</b>",
        tail_id="t",
        tail_name="Windhoek",
        tail_type="/city",
        probability=0.9,
        threshold=0.5,
        is_label=None,
        evidence=(evidence,),
        support=Support("one_sentence", 1, 0.9, 0.1, 0.1),
        ranked_by="shapley",
        variant="CNNs+ATT",
    )


def test_text_from_the_corpus_is_escaped_and_mentions_are_marked() -> None:
    page = explanation("Windhoek <i> Namibia", (0.0, 0.0, 0.0)).to_html()
    assert '<mark class="tail">Windhoek</mark> &lt;i&gt; <mark class="head">Namibia</mark>' in page
    assert "&lt;b&gt;capital&lt;/b&gt;" in page


def test_words_are_shaded_by_their_share_of_the_strongest_and_weak_ones_are_not() -> None:
    page = explanation("Windhoek in Namibia", (2.0, -1.0, 0.1)).to_html()
    assert '<span class="word for" style="--strength:1.00" title="+2.000">Windhoek</span> ' in page
    assert '<span class="word against" style="--strength:0.50" title="-1.000">in</span> Namibia</p>' in page


def test_without_jinja_a_page_is_refused_in_one_line(no_jinja: None) -> None:
    with pytest.raises(UserError, match="HTML pages need jinja2: pip install jinja2"):
        explanation("Windhoek in Namibia", ()).to_html()


def test_two_occurrences_side_by_side_stay_two() -> None:
    sentence = {"tokens": ["h", "h", "and", "t"], "head_spans": [[0, 1], [1, 2]], "tail_spans": [[3, 4]]}
    sentence["source"] = None
    assert [part.text for part in styled_sentence(sentence)] == ["h", "h", "and", "t"]


def test_stretches_join_to_the_sentence_as_its_document_writes_it() -> None:
    source = {"document_id": "d", "start": 0, "stop": 20, "glued": [1, 3, 6, 7], "curly": [3]}
    tokens = ["(", "h", "and", "'s", "New", "t", ",", "too"]
    spans = {"head_spans": [[1, 2]], "tail_spans": [[4, 6]]}
    parts = list(styled_sentence({"tokens": tokens, **spans, "source": source}))
    assert [(part.gap, part.text, part.kind) for part in parts] == [
        ("", "(", ""),
        ("", "h", "head"),
        (" ", "and’s", ""),
        (" ", "New t", "tail"),
        ("", ",too", ""),
    ]


@given(st.lists(st.tuples(st.text("abc", min_size=1, max_size=3), st.floats(-5, 5)), min_size=1, max_size=9))
def test_no_word_is_lost_and_shades_follow_the_scores(pairs: list[tuple[str, float]]) -> None:
    words, scores = zip(*pairs, strict=True)
    parts = list(styled_words(words, scores))
    assert [part.text for part in parts] == list(words)
    for part, score in zip(parts, scores, strict=True):
        assert 0 <= part.strength <= 1
        assert part.kind in ("", "for" if score > 0 else "against")
        assert bool(part.kind) == (part.strength > 0.1)


def test_brackets_are_shown_as_documents_write_them() -> None:
    tokens = ["h", "-lrb-", "t", "-rrb-", "$", "-LSB-", "6", "-RSB-", "."]
    sentence = {"tokens": tokens, "head_spans": [[0, 1]], "tail_spans": [[2, 3]], "source": None}
    parts = list(styled_sentence(sentence))
    assert "".join(part.gap + part.text for part in parts) == "h (t) $ [6] ."
    assert [part.text for part in parts if part.kind] == ["h", "t"]


@pytest.mark.parametrize(
    ("definition", "says"),
    [
        ("The tail, a city, is the capital of the head, a country.", "t o is the capital of H"),
        ("the head, a country, team or person, belongs to the tail, an organisation", "H belongs to t o"),
        ("The tail is the capital of the head. Not of the head alone.", "t o is the capital of H"),
        ("The head, a person, lives or has lived in the tail, a city.", "H lives or has lived in t o"),
        ("the head’s capital", "H — capital → t o"),
        ("Where the head of the head is the tail.", "H — capital → t o"),
        ("The seat of government.", "H — capital → t o"),
        ("The head " + "very " * 40 + "is the tail.", "H — capital → t o"),
        ("", "H — capital → t o"),
    ],
)
def test_a_fact_is_a_sentence_if_the_definition_names_both_sides_once(definition: str, says: str) -> None:
    parts = stated("H", "/location/country/capital", "t_o", definition)
    assert plain_text(parts) == says
    assert {(part.text, part.kind) for part in parts if part.kind} == {("H", "head"), ("t_o", "tail")}


@given(st.text(max_size=40), st.text("ab._ (", max_size=9), st.text("ab._ (", max_size=9), st.text(max_size=60))
def test_names_and_definitions_of_any_form_are_shown(relation: str, head: str, tail: str, definition: str) -> None:
    assert isinstance(plain_text(stated(head, relation, tail, f"The head is the tail {definition}")), str)
    text = f"{head} and {tail}"
    parts = styled_quote(Quote(definition, text, "", 1, 1.0, "", None), head, tail)
    shown = "".join(each.gap + each.text for each in parts)
    assert "".join(shown.split()) == "".join((definition + text).split()).replace("-lrb-", "(")


def test_a_quote_has_its_names_and_brackets() -> None:
    quote = Quote("On -lrb- today -rrb- ", "El Paso , Texas", " .", 1, 1.0, "", None)
    parts = styled_quote(quote, "texas", "el_paso")
    assert "".join(part.gap + part.text for part in parts) == "On (today) El Paso , Texas ."
    assert [(part.text, part.kind) for part in parts if part.kind] == [("El Paso", "tail"), ("Texas", "head")]
    parts = styled_quote(quote, "the Lone Star State", "el_paso")
    assert [(part.text, part.kind) for part in parts if part.kind] == [("El Paso , Texas", "exact")]


def test_words_without_scores_are_one_stretch() -> None:
    assert [part.text for part in styled_words(["so", "it", "is"], [])] == ["so it is"]
