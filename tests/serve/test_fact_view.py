from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sayso.serve.fact_view import MAX_SHOWN, NUM_SHADES, styled_input, styled_sentence, view_fact


def evidence(rank: int, **scores: float) -> dict[str, Any]:
    text = f"h says {rank} of t"
    spans = {"head_spans": [[0, 1]], "tail_spans": [[4, 5]]}
    about = {"rank": rank, "text": text, "tokens": text.split(), "mark": None, "is_in_smallest": rank == 1}
    return {**about, **spans, "scores": scores, "seen": text.split(), "word_scores": [], "source": None}


def test_sentences_are_placed_by_the_mechanism_asked_for() -> None:
    fact = {"ranked_by": "a", "evidence": [evidence(1, a=3.0, b=-1.0), evidence(2, a=1.0, b=2.0)]}
    assert [each.rank for each in view_fact(fact).sentences] == [1, 2]
    assert [each.rank for each in view_fact(fact, "b").sentences] == [2, 1]
    assert view_fact(fact, "unheard of").by == "a"


def test_bars_are_shares_of_the_largest_score_whatever_its_sign() -> None:
    fact = {"ranked_by": "a", "evidence": [evidence(1, a=1.0), evidence(2, a=-4.0)]}
    assert [each.bar("a").width for each in view_fact(fact).sentences] == [25.0, 100.0]


def test_scores_that_are_all_zero_have_empty_bars() -> None:
    assert view_fact({"ranked_by": "a", "evidence": [evidence(1, a=0.0)]}).sentences[0].bars[0].width == 0.0


def test_a_bag_too_large_for_a_page_says_how_many_are_left_out() -> None:
    many = [evidence(rank, a=-float(rank)) for rank in range(1, MAX_SHOWN + 8)]
    shown = view_fact({"ranked_by": "a", "evidence": many})
    assert len(shown.sentences) == MAX_SHOWN
    assert shown.num_hidden == 7


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
    parts = list(styled_input(words, scores))
    assert [part.text for part in parts] == list(words)
    for part, score in zip(parts, scores, strict=True):
        assert 0 <= part.shade <= NUM_SHADES
        assert part.kind == ("" if not part.shade else "for" if score > 0 else "against")


def test_words_without_scores_are_one_stretch() -> None:
    assert [part.text for part in styled_input(["so", "it", "is"], [])] == ["so it is"]
