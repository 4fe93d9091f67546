import io
import json
from importlib.resources import files
from pathlib import Path

import pytest

from sayso.facts.explanation import support_sentence
from sayso.library import Model, load
from sayso.records import SUPPORT_LABELS, Bag, Source, Support

TEXTS = [
    "Kowandi is the capital of Marbeland <script>alert(1)</script>.",
    "A large billboard stands opposite the park in Kowandi, Marbeland.",
]


@pytest.fixture(scope="module")
def model(runs: list[Path]) -> Model:
    return load(runs[0])


@pytest.fixture(scope="module")
def bag() -> Bag:
    return Bag.from_sentences(TEXTS, head="Marbeland", tail="Kowandi")


def test_sentences_are_shown_as_their_documents_write_them(model: Model, bag: Bag) -> None:
    sentence = bag.sentences[1]
    assert sentence.tokens[8:] == ("Kowandi", ",", "Marbeland", ".")
    written = sentence._replace(source=Source("news", 0, 65, glued=(9, 11)))
    explanation = model.explain(bag._replace(sentences=(written,)))
    assert "in {Kowandi}, [Marbeland].\n" in f"{explanation}\n"
    assert '<mark class="tail">Kowandi</mark>, <mark class="head">Marbeland</mark>. ' in explanation.to_html()
    (found,) = explanation.to_dict()["evidence"]
    assert (found["text"], found["source"]["glued"]) == (sentence.text, (9, 11))


def test_by_default_the_most_probable_relation_is_explained(model: Model, bag: Bag) -> None:
    explanation = model.explain(bag)
    probability_R = model.predict_proba([bag])[0]
    assert explanation.probability == pytest.approx(probability_R.max(), abs=1e-6)
    assert explanation.relation == model.relations[probability_R.argmax()]
    assert explanation.is_label is None


def test_only_the_named_mechanisms_are_used(model: Model, bag: Bag) -> None:
    explanation = model.explain(bag, "capital", methods=["saliency", "attention"])
    assert explanation.mechanisms == ["saliency", "attention"]
    assert explanation.ranked_by == "saliency"
    scores = [each.scores["saliency"] for each in explanation.evidence]
    assert scores == sorted(scores, reverse=True)


def test_it_is_shown_as_text(model: Model, bag: Bag) -> None:
    file = io.StringIO()
    model.explain(bag, "capital", types={"Marbeland": "/location/country"}).show(file)
    text = file.getvalue()
    assert text.startswith("Marbeland (/location/country)  →  Kowandi (/other)\ncapital   probability 0.")
    assert "{Kowandi} is the capital of [Marbeland]" in text
    assert "the model saw: /other is the capital of /location/country" in text


def test_json_holds_what_the_object_holds(model: Model, bag: Bag) -> None:
    explanation = model.explain(bag, "capital")
    found = json.loads(explanation.to_json())
    assert found == json.loads(json.dumps(explanation.to_dict()))
    assert {each["text"] for each in found["evidence"]} == {sentence.text for sentence in bag.sentences}
    assert found["support"]["text"] == explanation.support_text


def test_pages_and_notebooks_get_escaped_html(model: Model, bag: Bag) -> None:
    explanation = model.explain(bag, "capital")
    assert explanation._repr_html_() == explanation.to_html()
    assert "<script" not in explanation.to_html()
    assert '<mark class="tail">Kowandi</mark>' in explanation.to_html()


def test_an_unknown_relation_is_a_value_error(model: Model, bag: Bag) -> None:
    with pytest.raises(ValueError, match="relation '/made/up' is not one of the model's 2 relations"):
        model.explain(bag, "/made/up")


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
            "Rests on several sentences at the threshold 0.75: the prediction needs all 2 (0.90);"
            " without them the probability falls to 0.01.",
        ),
        (
            Support("several_sentences", 1, 0.99, 0.98, 0.01, num_enough=14),
            32,
            "Several sentences, each enough at the threshold 0.75: 14 of 32 sentences are each enough;"
            " without the best one the others still reach 0.98.",
        ),
        (
            Support("several_sentences", 2, 0.99, 0.98, 0.01, num_enough=3),
            3,
            "Several sentences, each enough at the threshold 0.75: 3 of 3 sentences are each enough;"
            " without the best 2 the other still reaches 0.98.",
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
            "Not on the sentences at the threshold 0.75: even without any sentence the probability is 0.80"
            " (with all 4: 0.90).",
        ),
    ],
)
def test_the_text_says_what_the_prediction_rests_on_and_not_what_is_true(
    support: Support, num_sentences: int, text: str
) -> None:
    assert support_sentence(support, 0.9, 0.75, num_sentences) == text


def test_a_probability_just_below_the_threshold_is_shown_with_enough_digits() -> None:
    found = support_sentence(Support("not_predicted", 0, 0.0, 0.0, 0.0), 0.4996, 0.5, 2)
    assert found == "Not predicted (0.4996 is below 0.5)."


def test_an_unknown_threshold_is_not_named() -> None:
    found = support_sentence(Support("one_sentence", 1, 0.9, 0.01, 0.01), 0.9, None, 1)
    assert found == "Rests on one sentence: without it the probability falls from 0.90 to 0.01."


def test_labels_are_about_the_prediction() -> None:
    assert list(SUPPORT_LABELS) == [
        "one_sentence",
        "sentences_together",
        "several_sentences",
        "not_sentences",
        "not_predicted",
    ]
    assert not any(word in " ".join(SUPPORT_LABELS.values()) for word in ("says", "stated", "true"))


@pytest.mark.parametrize("style", ["facts/templates/report.css", "serve/static/facts/facts.css"])
def test_support_has_none_of_the_colours_of_right_and_wrong(style: str) -> None:
    rules = [line for line in (files("sayso") / style).read_text().splitlines() if ".support" in line]
    assert rules
    assert not any(colour in rule for rule in rules for colour in ("--good", "--bad", "--yes", "--no)"))
