import io
import json
from pathlib import Path

import pytest

from sayso.library import Model, load
from sayso.records import Bag, Source

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


def test_the_most_probable_relation_is_explained_where_none_is_named(model: Model, bag: Bag) -> None:
    explanation = model.explain(bag)
    probability_R = model.predict_proba([bag])[0]
    assert explanation.probability == pytest.approx(probability_R.max(), abs=1e-6)
    assert explanation.relation == model.relations[probability_R.argmax()]
    assert explanation.is_label is None


def test_only_the_named_mechanisms_are_asked(model: Model, bag: Bag) -> None:
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
    with pytest.raises(ValueError, match="relation '/made/up' is not one of the model's 2"):
        model.explain(bag, "/made/up")
