from typing import Any

import pytest

from sayso.facts.quote import Quote
from sayso.records import Support
from sayso.serve.fact_view import MAX_SHOWN, RemainingSupport, remaining_support, view_fact
from toy_facts import make_extracted


def evidence(rank: int, **scores: float) -> dict[str, Any]:
    text = f"h says {rank} of t"
    spans = {"head_spans": [[0, 1]], "tail_spans": [[4, 5]]}
    about = {"rank": rank, "text": text, "tokens": text.split(), "mark": None, "is_in_smallest": rank == 1}
    return {**about, **spans, "scores": scores, "seen": text.split(), "word_scores": [], "source": None}


MEASURED = tuple(
    Quote(f"{place} ", "h in t", "", place, 1.0 / place, alone=alone) for place, alone in enumerate((0.9, 0.7, 0.2), 1)
)


@pytest.mark.parametrize(
    ("rejected", "changes", "kind", "text"),
    [
        ({1}, {}, "one_sentence", "Without the rejected sentence, sentence 2 is enough (0.70 alone)."),
        (
            {3},
            {},
            "several_sentences",
            "Without the rejected sentence, sentences 1, 2 are each enough (up to 0.90 alone).",
        ),
        ({1, 2}, {}, "", "Without the 2 rejected sentences, no sentence is enough alone; the others together were not"),
        ({1, 2, 3}, {}, "not_predicted", "All sentences are rejected; no evidence for this fact is left."),
        (
            {1, 2, 3},
            {"num_sentences": 4},
            "",
            "Without the 3 rejected sentences, no sentence is enough alone; the others",
        ),
        (
            {1},
            {"support": Support("not_sentences", 0, 0.9, 0.9, 0.8)},
            "not_sentences",
            "as before: not on the sentences",
        ),
        (
            {1, 2},
            {"support": Support("one_sentence", 2, 0.9, 0.6, 0.1)},
            "sentences_together",
            "others together reach 0.60",
        ),
        ({1, 2}, {"support": Support("one_sentence", 2, 0.9, 0.3, 0.1)}, "not_predicted", "the others reach 0.30."),
    ],
)
def test_support_is_recomputed_without_the_rejected_quotes(
    rejected: set[int], changes: dict[str, Any], kind: str, text: str
) -> None:
    quotes = tuple(each._replace(decision="rejected" if each.rank in rejected else "") for each in MEASURED)
    fact = make_extracted(quotes=quotes, **{"num_sentences": 3, **changes})
    found = remaining_support(fact, 0.5)
    assert found
    assert (found.kind, text in found.text) == (kind, True), found
    assert remaining_support(make_extracted(quotes=MEASURED), 0.5) is None


def test_the_smallest_set_still_keeps_the_prediction_if_others_are_rejected() -> None:
    quotes = tuple(each._replace(alone=None, decision="rejected" if each.rank == 3 else "") for each in MEASURED)
    support = Support("sentences_together", 2, 0.8, 0.1, 0.1)
    found = remaining_support(make_extracted(quotes=quotes, num_sentences=3, support=support), 0.5)
    text = "Without the rejected sentence, the smallest set keeps the prediction (0.80)."
    assert found == RemainingSupport("sentences_together", text)


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
