from importlib.resources import files

import pytest

from sayso.facts.support import support_sentence
from sayso.records import SUPPORT_LABELS, Support


@pytest.mark.parametrize(
    ("support", "num_sentences", "text"),
    [
        (
            Support("one_sentence", 1, 0.9, 0.1, 0.01),
            3,
            "Rests on one sentence at the threshold 0.75: 1 of 3 keeps the prediction (0.90 without the others);"
            " without it the probability falls to 0.10.",
        ),
        (
            Support("one_sentence", 1, 0.9, 0.01, 0.01),
            1,
            "Rests on one sentence at the threshold 0.75: without it the probability falls from 0.90 to 0.01.",
        ),
        (
            Support("sentences_together", 2, 0.9, 0.1, 0.01),
            3,
            "Rests on several sentences at the threshold 0.75: 2 of 3 together keep the prediction"
            " (0.90 without the others);"
            " without them the probability falls to 0.10.",
        ),
        (
            Support("sentences_together", 2, 0.9, 0.01, 0.01),
            2,
            "Rests on several sentences at the threshold 0.75: only all 2 keep the prediction (0.90);"
            " without them the probability falls to 0.01.",
        ),
        (
            Support("several_sentences", 1, 0.99, 0.98, 0.01, num_enough=14),
            32,
            "Several sentences, each enough at the threshold 0.75: 14 of 32 sentences are each enough;"
            " without the best one the others still give 0.98.",
        ),
        (
            Support("several_sentences", 2, 0.99, 0.98, 0.01, num_enough=3),
            3,
            "Several sentences, each enough at the threshold 0.75: 3 of 3 sentences are each enough;"
            " without the best 2 the other still gives 0.98.",
        ),
        (
            Support("sentences_together", 1, 0.9, 0.8, 0.01, num_enough=1),
            5,
            "Rests on several sentences at the threshold 0.75: 1 of 5 keeps the prediction (0.90 without the others),"
            " and the 4 others together do too (0.80).",
        ),
        (
            Support("several_sentences", 2, 0.9, 0.8, 0.01),
            5,
            "Rests on several sentences at the threshold 0.75: 2 of 5 together keep the prediction"
            " (0.90 without the others),"
            " and the 3 others together do too (0.80).",
        ),
        (
            Support("not_sentences", 0, 0.8, 0.9, 0.8),
            4,
            "Not on the sentences at the threshold 0.75: without any sentence the model still gives 0.80"
            " (with all 4: 0.90).",
        ),
    ],
)
def test_the_text_says_what_the_prediction_rests_on_and_not_what_is_true(
    support: Support, num_sentences: int, text: str
) -> None:
    assert support_sentence(support, 0.9, 0.75, num_sentences) == text


def test_a_probability_just_below_the_threshold_does_not_look_like_it() -> None:
    found = support_sentence(Support("not_predicted", 0, 0.0, 0.0, 0.0), 0.4996, 0.5, 2)
    assert found == "Not predicted (0.4996 is below the threshold 0.5)."


def test_a_threshold_that_is_not_known_is_not_named() -> None:
    found = support_sentence(Support("one_sentence", 1, 0.9, 0.01, 0.01), 0.9, None, 1)
    assert found == "Rests on one sentence: without it the probability falls from 0.90 to 0.01."


def test_labels_speak_of_the_prediction() -> None:
    assert list(SUPPORT_LABELS) == [
        "one_sentence",
        "sentences_together",
        "several_sentences",
        "not_sentences",
        "not_predicted",
    ]
    assert not any(word in " ".join(SUPPORT_LABELS.values()) for word in ("says", "stated", "true"))


@pytest.mark.parametrize("style", ["facts/templates/report.css", "serve/static/explore/explore.css"])
def test_support_has_none_of_the_colours_of_right_and_wrong(style: str) -> None:
    rules = [line for line in (files("sayso") / style).read_text().splitlines() if ".support" in line]
    assert rules
    assert not any(colour in rule for rule in rules for colour in ("--good", "--bad", "--yes", "--no)"))
