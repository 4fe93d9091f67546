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
    ],
)
def test_a_variant_has_the_name_of_the_paper(settings: dict, name: str) -> None:
    assert config_of(settings).variant == name


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"train": {"max_epochs": 0}}, "train.max_epochs: at least 1 is expected, not 0"),
        (
            {"train": {"learning_rate": 0.0}},
            "train.learning_rate: a number above 0 and at most 1e30 is expected, not 0.0",
        ),
        ({"train": {"learning_rate": float("nan")}}, "at most 1e30 is expected, not nan"),
        ({"train": {"learning_rate": 1e38}}, "at most 1e30 is expected, not 1e+38"),
        ({"train": {"gradient_clip": -1.0}}, "train.gradient_clip: a number above 0"),
        ({"loss": {"distractor": float("nan")}}, "loss.distractor: at least 0 is expected, not nan"),
        ({"loss": {"margin": -1e-5}}, "loss.margin: at least 0"),
        ({"data": {"max_bag_sentences": 0}}, "data.max_bag_sentences: at least 1"),
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


def test_only_a_sentence_classifier_that_is_trained_needs_direct_sentences() -> None:
    assert toy_config("direct").needs_direct
    assert not toy_config("attention").needs_direct
    assert not config_of({"model": {"aggregator": {"kind": "direct"}}, "loss": {"sentence": 0.0}}).needs_direct
    assert not config_of({"model": {"aggregator": {"kind": "direct"}}, "loss": {"direct_sentences": 0}}).needs_direct
