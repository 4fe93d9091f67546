import pytest

from sayso.errors import BadConfigError
from sayso.train.config import config_of, load_config
from train.toy_run import toy_config


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({}, "CNNs+ATT"),
        ({"data": {"mentions": "type"}}, "CNNs+ATT+F"),
        ({"data": {"mentions": "type_and_words"}, "model": {"use_entities": True}}, "CNNs+ATT+FE+E"),
        ({"model": {"aggregator": {"kind": "direct"}}, "loss": {"distractor": 1.0}}, "DirectSup+LD"),
        ({"model": {"encoder": {"kind": "pcnn"}}}, "PCNNs+ATT"),
        ({"model": {"encoder": {"kind": "pcnn"}, "aggregator": {"kind": "direct"}}}, "DirectSup(PCNN)"),
        ({"model": {"encoder": {"kind": "words"}, "aggregator": {"kind": "noisy_or"}}}, "Words+OR"),
        ({"model": {"encoder": {"kind": "words"}, "aggregator": {"kind": "direct"}}}, "DirectSup(Words)"),
    ],
)
def test_a_variant_has_the_name_of_the_paper(settings: dict, name: str) -> None:
    assert config_of(settings).variant == name


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"train": {"max_epochs": 0}}, "train.max_epochs is 0; it must be from 1 to 1,000,000"),
        ({"train": {"learning_rate": 0.0}}, "train.learning_rate is 0.0; it must be above 0 and at most 1e+30"),
        ({"train": {"learning_rate": float("nan")}}, "train.learning_rate is nan; it must be above 0"),
        ({"train": {"learning_rate": 1e38}}, "train.learning_rate is 1e+38; it must be above 0"),
        ({"train": {"learning_rate": 10**400}}, "train.learning_rate is inf; it must be above 0"),
        ({"train": {"patience": 10**400}}, "0000; it must be from 1 to 1,000,000"),
        ({"train": {"gradient_clip": -1.0}}, "train.gradient_clip is -1.0; it must be above 0"),
        ({"loss": {"distractor": float("nan")}}, "loss.distractor is nan; it must be from 0"),
        ({"loss": {"margin": -1e-5}}, "loss.margin is -1e-05; it must be from 0"),
        ({"data": {"max_bag_sentences": 0}}, "data.max_bag_sentences is 0; it must be from 1"),
        (
            {"model": {"encoder": {"kind": "cnn", "cnn": {"widths": [2, 1_000_000]}}}},
            "model.encoder.cnn.widths is 1000000; it must be from 1 to 100",
        ),
        ({"train": {"precision": "fp16"}}, "train.precision: 'fp16' is not one of float32, tf32"),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(settings: dict, message: str) -> None:
    with pytest.raises(BadConfigError) as error:
        config_of(settings)
    assert message in str(error.value)


def test_the_file_is_named_with_what_is_wrong_in_it(tmp_path) -> None:
    path = tmp_path / "run.toml"
    path.write_text("[train]\nbatch_bag = 3\n")
    with pytest.raises(BadConfigError) as error:
        load_config(path)
    assert str(error.value) == f"{path}: train.batch_bag: no such setting; did you mean batch_bags?"


def test_relation_labels_need_direct_sentences_with_any_aggregator_and_are_not_captured() -> None:
    config = config_of({"loss": {"direct_task": "relations"}})
    assert config.needs_direct
    assert config.loss.plain_terms == ["direct_task"]
    for setting in ("direct_relations", "direct_sentences"):
        without = config_of({"loss": {"direct_task": "relations", setting: 0}})
        assert not without.needs_direct
        assert without.loss.plain_terms == []


def test_terms_for_an_incomplete_knowledge_base_are_not_captured_and_weights_need_types() -> None:
    config = config_of({"loss": {"known_share": 0.5, "compatible_na": 0.2}})
    assert config.loss.plain_terms == ["known_share", "compatible_na"]
    assert config.needs_types
    assert not config_of({"loss": {"known_share": 0.5}}).needs_types


def test_only_a_sentence_classifier_that_is_trained_needs_direct_sentences() -> None:
    assert toy_config("direct").needs_direct
    assert not toy_config("attention").needs_direct
    assert not config_of({"model": {"aggregator": {"kind": "direct"}}, "loss": {"sentence": 0.0}}).needs_direct
    assert not config_of({"model": {"aggregator": {"kind": "direct"}}, "loss": {"direct_sentences": 0}}).needs_direct


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("epochs=2", "changes epochs=2: epochs: no such setting; did you mean train.max_epochs?"),
        ("train.max_epoch=2", "changes train.max_epoch=2: train.max_epoch: no such setting; did you mean max_epochs?"),
        ("zzz=2", "changes zzz=2: zzz: no such setting"),
        ("seed", "changes: seed: expected name.of.setting=value"),
    ],
)
def test_a_change_that_cannot_be_made_is_named_and_not_the_file(change: str, message: str) -> None:
    with pytest.raises(BadConfigError) as refused:
        load_config("cnns_att", [change])
    assert str(refused.value) == message
