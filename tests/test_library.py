import inspect
import logging
import pydoc
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

import sayso
from sayso.errors import BadInputError, UserError
from sayso.library import Model
from sayso.model.aggregators.direct import DirectConfig
from sayso.model.checkpoint import load_model
from sayso.model.predict import predict_logits
from sayso.records import Bag, Mention, Sentence, Span
from sayso.store.store import Store
from sayso.train.config import RunConfig
from sayso.train.data import RunData
from toy import make_sentence
from toy_run import MAX_TOKENS, make_run, make_store, toy_config

VARIANTS = {
    "CNNs+ATT": toy_config(),
    "CNNs+ATT+FE+E": toy_config("type_and_words", use_entities=True),
    "DirectSup+F": toy_config("type", DirectConfig(hidden_width=4)),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def run(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(VARIANTS["CNNs+ATT+FE+E"], store, tmp_path_factory.mktemp("run") / "x")


@pytest.fixture(scope="module")
def model(run: Path) -> Model:
    return sayso.load(run)


def bags_of(store: Path, part: str) -> list[Bag]:
    return list(Store(store).bags(part))


@pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS)
def test_records_get_the_probabilities_of_the_stores_bags(config: RunConfig, store: Path, tmp_path: Path) -> None:
    folder = make_run(config, store, tmp_path / "run")
    model = sayso.load(folder)
    for part in ("train", "validation"):
        logit_BR = predict_logits(load_model(folder).extractor, RunData(Store(store), config).part(part))
        expected = 1 / (1 + np.exp(-logit_BR.astype(np.float64)))
        np.testing.assert_allclose(model.predict_proba(bags_of(store, part)), expected, atol=1e-5)
    assert model.variant == config.variant


def test_a_run_without_word_vectors_predicts_alike(tmp_path: Path) -> None:
    store, config = make_store(tmp_path, vectors=False), toy_config("type")
    folder = make_run(config, store, tmp_path / "run")
    logit_BR = predict_logits(load_model(folder).extractor, RunData(Store(store), config).part("validation"))
    found = sayso.load(folder).predict_proba(bags_of(store, "validation"))
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-logit_BR)), atol=1e-5)


def test_plain_text_is_normalised_like_the_corpus(model: Model) -> None:
    assert {"port_town2", "north_land2"} <= set(model.parts.lexicon.words)
    raw = Bag.from_sentences(["Port Town2 is the capital of North Land2."], head="North Land2", tail="Port Town2")
    text = "port_town2 is the capital of north_land2 ."
    written = Bag.from_sentences([make_sentence(text, "north_land2", "port_town2")])
    known = Bag.from_sentences([text], head="north_land2", tail="port_town2", head_id="l2", tail_id="t2")
    np.testing.assert_allclose(model.predict_proba([raw, written, known]), model.predict_proba([known] * 3), atol=1e-6)


def test_words_of_a_name_without_vector_stay_apart(model: Model) -> None:
    sentence = Sentence.from_text("The King lives in Port Capital.", head="King", tail="Port Capital")
    assert model.parts.lexicon.rewrite(sentence).tokens == ("the", "king", "lives", "in", "port", "capital", ".")


def test_predictions_are_sorted_cut_at_the_threshold_and_carry_the_pair(model: Model) -> None:
    bag = Bag.from_sentences(["ada_2 was born in port_town2 ."], "ada_2", "port_town2", head_id="p2", tail_id="t2")
    (row,) = model.predict_proba([bag])
    (everything,) = model.predict([bag], threshold=0.0)
    assert [p.probability for p in everything] == sorted(row.tolist(), reverse=True)
    assert {p.relation for p in everything} == set(model.relations)
    assert {(p.head_id, p.tail_id) for p in everything} == {("p2", "t2")}
    assert model.predict([bag], threshold=float(row.max())) == [everything[:1]]
    assert model.predict([bag], threshold=1.0) == [[]]


def test_evaluate_on_bags_gives_scikit_learns_average_precision(model: Model, store: Path) -> None:
    bags = bags_of(store, "validation")
    labels = np.array([[name in bag.relations for name in model.relations] for bag in bags])
    expected = average_precision_score(labels.ravel(), model.predict_proba(bags).ravel())
    assert model.evaluate(bags)["average_precision"] == pytest.approx(expected)


def test_evaluate_on_the_store_equals_evaluate_on_its_bags(model: Model, store: Path) -> None:
    opened = sayso.Store(str(store))
    found = model.evaluate(opened, part="validation")
    assert found == pytest.approx(model.evaluate(list(opened.bags("validation"))))
    assert found["num_bags"] == opened.part("validation").num_bags
    with pytest.raises(UserError, match="has no part 'dev' to evaluate on"):
        model.evaluate(opened, part="dev")


def test_train_returns_the_model_that_load_reads(store: Path, tmp_path: Path) -> None:
    changes = ["train.max_epochs=1", "model.encoder.cnn.num_filters=4"]
    model = sayso.train("cnns_att", sayso.Store(store), tmp_path / "run", changes=changes, device="cpu")
    bags = bags_of(store, "validation")
    np.testing.assert_array_equal(model.predict_proba(bags), sayso.load(tmp_path / "run").predict_proba(bags))


def test_a_relation_the_model_does_not_know_cannot_be_scored(model: Model) -> None:
    with pytest.raises(ValueError, match="bag 1: the model does not know the relation 'eats'"):
        model.evaluate([Bag.from_sentences(["a b"], "a", "b", relations=["eats"])])


def test_bags_stay_as_given_with_repeated_sentences_and_pairs(model: Model) -> None:
    one, other = make_sentence("h is the capital of t"), make_sentence("h and t")
    found = model.predict_proba([Bag.from_sentences(bag) for bag in ([one], [one, one, other], [one])])
    np.testing.assert_allclose(found[0], found[2], atol=1e-6)
    assert np.abs(found[0] - found[1]).max() > 1e-6
    assert model.predict_proba([]).shape == (0, 2)


def test_sentences_of_a_corpus_are_grouped_by_pair_and_counted_once(model: Model, store: Path) -> None:
    bags = bags_of(store, "validation")
    sentences = [sentence for bag in bags for sentence in bag.sentences]
    too_far = make_sentence("h " + "x " * MAX_TOKENS + "t")
    found = model.predict_corpus([*sentences, too_far, *sentences], threshold=0.0)
    assert (found.num_pairs, found.num_repeated, found.num_too_far_apart) == (len(bags), len(sentences), 1)
    probability_BR = model.predict_proba(bags)
    facts = list(found)
    assert [fact.probability for fact in facts] == sorted((fact.probability for fact in facts), reverse=True)
    assert found.highest == facts[0].probability
    assert {(fact.head_id, fact.tail_id, fact.relation): fact.probability for fact in facts} == pytest.approx(
        {
            (bag.head_id, bag.tail_id, name): probability
            for bag, row in zip(bags, probability_BR.tolist(), strict=True)
            for name, probability in zip(model.relations, row, strict=True)
        },
        abs=1e-6,
    )
    sizes = {(bag.head_id, bag.tail_id): len(bag.sentences) for bag in bags}
    assert all(sizes[fact.head_id, fact.tail_id] == fact.num_sentences for fact in facts)
    assert list(model.predict_corpus(sentences, threshold=0.0, top=3)) == facts[:3]
    assert list(model.predict_corpus([])) == []


def test_unknown_entities_are_counted_in_one_warning(model: Model, caplog: pytest.LogCaptureFixture) -> None:
    bags = [
        Bag.from_sentences(["zoe met max ."], "zoe", "max"),
        Bag.from_sentences(["zoe saw ada_2 ."], "zoe", "ada_2"),
    ]
    with caplog.at_level(logging.WARNING, "sayso"):
        model.predict_proba(bags, types={"zoe": "/person"})
    (record,) = caplog.records
    assert record.getMessage() == (
        "2 of 3 entities are unknown to the model; 1 have no type and count as /other: pass `types`"
    )


def test_given_types_count_by_id_or_name_and_climb_to_one_the_model_knows(model: Model) -> None:
    bag = Bag.from_sentences(["zoe met max ."], "zoe", "max", head_id="q1")
    as_person = model.predict_proba([bag], types={"q1": "/person"})
    assert np.abs(as_person - model.predict_proba([bag])).max() > 1e-6
    finest = {"zoe": ["/unheard", "/person/artist/singer"]}
    np.testing.assert_array_equal(model.predict_proba([bag], types=finest), as_person)


@pytest.mark.parametrize(
    ("sentence", "fault"),
    [
        (make_sentence("a b", "a", "b"), r"sentence 1: it mentions a different pair, \('a', 'b'\)"),
        (Sentence(("h", "t"), Mention("h", "h", ()), Mention("t", "t", (Span(1, 2),))), "a mention has no spans"),
        (
            Sentence(("h", "t"), Mention("h", "h", (Span(0, 1),)), Mention("t", "t", (Span(1, 3),))),
            "outside the sentence's 2 tokens",
        ),
        (Sentence(("h", "t"), Mention("h", "h", (Span(0, 2),)), Mention("t", "t", (Span(1, 2),))), "mentions overlap"),
    ],
)
def test_a_sentence_that_cannot_be_read_is_named(model: Model, sentence: Sentence, fault: str) -> None:
    with pytest.raises(ValueError, match=rf"bag 1 \(h, t\): .*{fault}"):
        model.predict_proba([Bag("h", "t", (sentence,))])


def test_a_sentence_whose_mentions_are_too_far_apart_is_left_out_and_counted(
    model: Model, caplog: pytest.LogCaptureFixture
) -> None:
    too_far, read = make_sentence("h " + "x " * MAX_TOKENS + "t"), make_sentence("h is the capital of t")
    bags = [Bag("h", "t", sentences) for sentences in ((read,), (too_far,), (too_far, read))]
    with caplog.at_level(logging.WARNING, "sayso"):
        found = model.predict_proba(bags)
    assert "2 sentences are left out: mentions are more than 20 tokens apart" in caplog.messages
    np.testing.assert_allclose(found[2], found[0], atol=1e-6)
    assert np.isnan(found[1]).all()
    assert [len(each) for each in model.predict(bags, threshold=0.0)] == [2, 0, 2]
    assert np.isnan(model.predict_proba(bags[1:2])).all()
    assert [each.sentence for each in model.explain(bags[2]).evidence] == [read]
    with pytest.raises(
        ValueError, match=r"cannot read any sentence of \(h, t\): mentions are more than 20 tokens apart"
    ):
        model.explain(bags[1])


def test_a_model_whose_probabilities_are_not_numbers_is_refused(run: Path) -> None:
    model = sayso.load(run)
    for parameter in model.parts.extractor.parameters():
        parameter.data *= 1e30
    bag = Bag.from_sentences(["far_town is the capital of far_land ."], "far_land", "far_town")
    message = r"probabilities are not numbers \(NaN\): .* train it again with a smaller train.learning_rate"
    for ask in (model.predict_proba, model.predict):
        with pytest.raises(UserError, match=message):
            ask([bag])
    for ask in (model.explain, lambda bag: model.predict_corpus(bag.sentences)):
        with pytest.raises(UserError, match=message):
            ask(bag)


def test_an_unreadable_bag_ranks_last_in_the_evaluation(model: Model) -> None:
    known = {"relations": frozenset(model.relations[:1])}
    bags = [
        Bag("h", "t", (make_sentence(text),), **known) for text in ("h is the capital of t", "h " + "x " * 30 + "t")
    ]
    assert 0 < model.evaluate(bags)["average_precision"] <= 1


def test_an_unknown_device_is_one_line(model: Model, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path / "copy")
    with pytest.raises(UserError, match="device gpu: choose one of auto, cpu, cuda"):
        Model.from_pretrained(tmp_path / "copy", device="gpu")


def test_something_else_than_a_list_of_bags_is_refused_in_one_line(model: Model) -> None:
    bag = Bag("h", "t", (make_sentence("h is the capital of t"),))
    for ask in (model.predict, model.predict_proba, model.evaluate):
        with pytest.raises(TypeError, match=r"expected a list of bags, got a single bag: write \[bag\]"):
            ask(bag)
    with pytest.raises(TypeError, match=r"bag 2 is a str, not a sayso\.Bag"):
        model.predict([bag, "h is the capital of t"])
    with pytest.raises(TypeError, match=r"expected sayso\.Sentence records, got Bag"):
        model.predict_corpus([bag])
    with pytest.raises(TypeError, match=r"expected a list of sentences, got a single string: write \[text\]"):
        Bag.from_sentences("h is the capital of t", "h", "t")
    with pytest.raises(TypeError, match=r"bag 1 is a list, not a sayso\.Bag"):
        model.explain([bag])


def test_a_bag_without_sentences_is_refused(model: Model) -> None:
    with pytest.raises(ValueError, match=r"bag 1 \(h, t\) has no sentences"):
        model.predict([Bag("h", "t", ())])


def test_a_saved_model_predicts_the_same(model: Model, store: Path, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path / "copy")
    bags = bags_of(store, "validation")
    np.testing.assert_array_equal(
        Model.from_pretrained(tmp_path / "copy").predict_proba(bags), model.predict_proba(bags)
    )
    with pytest.raises(UserError, match="not empty"):
        model.save_pretrained(tmp_path / "copy")


def test_a_folder_without_a_model_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="not a run or a model"):
        sayso.load(tmp_path)
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(UserError, match="not finished: continue it with `sayso train --resume`"):
        sayso.load(tmp_path)
    (tmp_path / "both" / "seed-1").mkdir(parents=True)
    (tmp_path / "both" / "seed-1" / "run.json").write_text("{}")
    with pytest.raises(UserError, match="seed-1: the run is not finished"):
        sayso.load(tmp_path / "both")


def test_importing_sayso_loads_neither_torch_nor_numpy_until_a_name_needs_them() -> None:
    program = (
        "import sys, sayso; assert not {'torch', 'numpy'} & set(sys.modules)\n"
        "sayso.Bag; assert 'torch' not in sys.modules\n"
        "assert sayso.Model.__name__ == 'Model'"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_package_of_the_same_name_does_not_replace_the_function_train() -> None:
    import sayso.train.run

    assert sayso.train is sys.modules["sayso.library"].train


def test_help_shows_the_whole_public_api() -> None:
    assert dir(sayso) == sorted(sayso.__all__)
    shown = pydoc.render_doc(sayso, renderer=pydoc.plaintext)
    for name in (
        "class Model",
        "class Store",
        "class Bag",
        "class Sentence",
        "class Explanation",
        "class Fact",
        "load(",
        "train(",
    ):
        assert name in shown


PUBLIC = [
    sayso.load,
    sayso.train,
    sayso.Store.bags,
    sayso.Bag.from_sentences,
    sayso.Sentence.from_text,
    *(getattr(Model, name) for name in ("predict", "predict_proba", "explain", "evaluate", "save_pretrained")),
]


@pytest.mark.parametrize("function", PUBLIC, ids=lambda function: function.__qualname__)
def test_public_functions_document_arguments_errors_and_an_example(function: Callable[..., object]) -> None:
    text = inspect.getdoc(function) or ""
    for section in ("Args:", "Raises:", "Example:"):
        assert f"\n{section}" in text
    documented = set(re.findall(r"[`\w]+", text.partition("Args:")[2].partition("Raises:")[0]))
    assert set(inspect.signature(function).parameters) - {"self", "cls"} <= documented


def test_the_examples_of_the_model_run(
    run: Path, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Model
) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "cnns_att_f_ld").symlink_to(run)
    (tmp_path / "demo" / "store").symlink_to(store)
    monkeypatch.chdir(tmp_path)
    bags = bags_of(store, "validation")
    monkeypatch.setattr(Store, "bags", lambda self, part: iter(bags))  # the toy store has no test part
    names = {"sayso": sayso, "model": model, "bag": bags[0], "sentences": bags[0].sentences}
    names["store"] = Store(store)
    examples = [example for each in (*PUBLIC, Model, sayso.Store, sayso.Explanation) for example in examples_of(each)]
    assert len(examples) >= 10
    for example in examples:
        if "sayso.train(" not in example and 'Store("demo/store"))' not in example:
            exec(example, names)


def examples_of(documented: object) -> list[str]:
    """Return the code of `Example:`, on the same line or in a block below."""
    text = inspect.getdoc(documented) or ""
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return re.findall(r"Example: `(.*)`", text) + list(map(textwrap.dedent, blocks))


@pytest.mark.slow
def test_neither_training_nor_a_loaded_model_imports_torchs_compiler_nor_the_latter_pandas(
    run: Path, store: Path, tmp_path: Path
) -> None:
    program = (
        "import sys, sayso\n"
        "from pathlib import Path; from sayso.store.store import Store; from sayso.train.config import load_config\n"
        "from sayso.train.run import train\n"
        "run, data, out = map(Path, sys.argv[1:]); store = Store(data)\n"
        "sayso.load(run).predict_proba([store.bag(store.part('train'), 0)])\n"
        "assert 'pandas' not in sys.modules\n"
        "train(load_config(run / 'config.toml'), data, out, device='cpu')\n"
        "assert 'torch._dynamo' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program, run, store, tmp_path / "out"], check=True)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'explode'"):
        sayso.explode  # noqa: B018
