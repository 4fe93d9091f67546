from typing import Any

from sayso.serve.fact_view import MAX_SHOWN, view_fact


def evidence(rank: int, **scores: float) -> dict[str, Any]:
    text = f"h says {rank} of t"
    spans = {"head_spans": [[0, 1]], "tail_spans": [[4, 5]]}
    about = {"rank": rank, "text": text, "tokens": text.split(), "mark": None, "is_in_smallest": rank == 1}
    return {**about, **spans, "scores": scores, "seen": text.split(), "word_scores": [], "source": None}


def test_sentences_are_placed_by_the_mechanism_asked_for() -> None:
    fact = {"ranked_by": "a", "evidence": [evidence(1, a=3.0, b=-1.0), evidence(2, a=1.0, b=2.0)]}
    assert [each["rank"] for each in view_fact(fact).sentences] == [1, 2]
    assert [each["rank"] for each in view_fact(fact, "b").sentences] == [2, 1]
    assert view_fact(fact, "unheard of").by == "a"


def test_bars_are_shares_of_the_largest_score_whatever_its_sign() -> None:
    fact = {"ranked_by": "a", "evidence": [evidence(1, a=1.0), evidence(2, a=-4.0)]}
    assert [each["bars"]["a"].width for each in view_fact(fact).sentences] == [25.0, 100.0]


def test_scores_that_are_all_zero_have_empty_bars() -> None:
    assert view_fact({"ranked_by": "a", "evidence": [evidence(1, a=0.0)]}).sentences[0]["bars"]["a"].width == 0.0


def test_a_bag_too_large_for_a_page_says_how_many_are_left_out() -> None:
    many = [evidence(rank, a=-float(rank)) for rank in range(1, MAX_SHOWN + 8)]
    shown = view_fact({"ranked_by": "a", "evidence": many})
    assert len(shown.sentences) == MAX_SHOWN
    assert shown.num_hidden == 7
