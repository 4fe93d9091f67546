"""Runs with a pretrained encoder, from training to explanation."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import command
import sayso
from sayso.errors import BadInputError, UserError
from sayso.model.encoders import transformer
from sayso.model.encoders.transformer import TransformerConfig
from sayso.readers.jsonl import write
from sayso.store.store import Store
from sayso.train import warning
from sayso.train.config import RunConfig
from sayso.train.data import RunData
from sayso.train.run import train
from sayso.train.seeds import train_seeds
from toy import make_sentence
from toy_encoder import edit_config, write_encoder
from train.test_run import StopError, same_tensors, stop_after
from train.toy_run import toy_config


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("encoder") / "tiny")


def config_with(encoder: Path, mentions: str = "type_and_words", **settings: object) -> RunConfig:
    plain = toy_config(mentions=mentions, max_epochs=3)
    transformer = TransformerConfig(folder=str(encoder), output_width=8, max_length=48, **settings)  # type: ignore[arg-type]
    steps = replace(plain.train, warmup=0.1, schedule="linear", weight_decay=0.01, tokens_at_once=300)
    return replace(plain, model=replace(plain.model, encoder=transformer), train=steps)


@pytest.mark.parametrize("freeze_layers", [0, 2])
def test_a_run_that_was_interrupted_and_resumed_ends_bit_for_bit_the_same(
    encoder: Path, store: Path, tmp_path: Path, freeze_layers: int
) -> None:
    config = config_with(encoder, freeze_layers=freeze_layers)
    train(config, store, tmp_path / "straight", "cpu")
    with pytest.raises(StopError):
        train(config, store, tmp_path / "broken", "cpu", callbacks=stop_after(1))
    train(config, store, tmp_path / "broken", "cpu", resume=True)
    for name in ("state.safetensors", "model/model.safetensors"):
        assert same_tensors(tmp_path / "straight" / name, tmp_path / "broken" / name)
    if freeze_layers:
        kept = load_file(tmp_path / "straight" / "state.safetensors")
        assert not any("encoder.lower" in name for name in kept)
        source, model = (
            load_file(encoder / "model.safetensors"),
            load_file(tmp_path / "straight/model/model.safetensors"),
        )
        name = "embeddings.word_embeddings.weight"
        assert source[name].equal(model[f"encoder.lower.{name}"])


def test_resuming_with_other_pretrained_weights_is_refused(encoder: Path, store: Path, tmp_path: Path) -> None:
    with pytest.raises(StopError):
        train(config_with(encoder), store, tmp_path / "run", "cpu", callbacks=stop_after(1))
    other = write_encoder(tmp_path / "other", seed=1)
    weights = (encoder / "model.safetensors").read_bytes()
    try:
        (encoder / "model.safetensors").write_bytes((other / "model.safetensors").read_bytes())
        with pytest.raises(BadInputError, match="the run was trained with encoder ="):
            train(config_with(encoder), store, tmp_path / "run", "cpu", resume=True)
    finally:
        (encoder / "model.safetensors").write_bytes(weights)


def test_a_model_predicts_and_explains_without_the_encoders_folder(encoder: Path, store: Path, tmp_path: Path) -> None:
    mine = write_encoder(tmp_path / "mine")
    train(config_with(mine), store, tmp_path / "run", "cpu")
    bag = sayso.Bag.from_sentences(
        ["Zorblax was born in Quuxville .", "The Zorblax of Quuxville ."], head="Zorblax", tail="Quuxville"
    )
    before = sayso.load(tmp_path / "run").predict_proba([bag])
    edit_config(mine, model_type="gone")
    (mine / "model.safetensors").unlink()
    model = sayso.load(tmp_path / "run")
    model.save_pretrained(tmp_path / "saved")
    again = sayso.load(tmp_path / "saved")
    for each in (model, again):
        np.testing.assert_array_equal(each.predict_proba([bag]), before)
    # Words that are new to the model are read: other words give other probabilities.
    other = sayso.Bag.from_sentences(["Zorblax hates Quuxville ."], head="Zorblax", tail="Quuxville")
    assert not np.allclose(again.predict_proba([other]), before)
    explanation = again.explain(bag, relation=again.relations[0])
    shown = {word for each in explanation.evidence for word in each.seen}
    assert {"Zorblax", "born", "Quuxville"} <= shown or {"zorblax", "born", "quuxville"} <= shown


def test_seeds_are_one_model_and_share_new_words(encoder: Path, store: Path, tmp_path: Path) -> None:
    train_seeds(config_with(encoder, mentions="words"), store, tmp_path / "seeds", 2, "cpu")
    together = sayso.load(tmp_path / "seeds")
    alone = [sayso.load(tmp_path / "seeds" / f"seed-{seed}") for seed in (13, 14)]
    bag = sayso.Bag.from_sentences(["Xyzzy saw Plugh ."], head="Xyzzy", tail="Plugh")
    expected = np.mean([model.predict_proba([bag]) for model in alone], axis=0)
    np.testing.assert_allclose(together.predict_proba([bag]), expected, rtol=1e-5)


def test_a_model_predicts_in_the_precision_it_was_trained_in(
    encoder: Path, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transformer, "has_fast_bf16", lambda _: True)
    config = config_with(encoder)
    train(replace(config, train=replace(config.train, precision="bf16")), store, tmp_path / "run", "cpu")
    model, bag = sayso.load(tmp_path / "run"), sayso.Bag.from_sentences(["Ana saw Rome ."], head="Ana", tail="Rome")
    half = model.predict_proba([bag])
    monkeypatch.setattr(transformer, "has_fast_bf16", lambda _: False)
    single = model.predict_proba([bag])
    assert not np.array_equal(half, single)
    np.testing.assert_allclose(half, single, rtol=0.1)


def test_reading_spans_with_types_instead_of_words_is_refused(encoder: Path, store: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="reading"):
        train(config_with(encoder, mentions="type", reading="spans"), store, tmp_path / "run", "cpu")


@pytest.mark.parametrize("has_instructions", [True, False])
def test_half_precision_on_a_cpu_is_a_warning_only_without_instructions_for_it(
    encoder: Path, store: Path, *, has_instructions: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warning, "has_fast_bf16", lambda _: has_instructions)
    config = config_with(encoder)
    data = RunData(Store(store), replace(config, train=replace(config.train, precision="bf16")))
    said = "\n".join(warning.warnings_about(data, torch.device("cpu")))
    assert ("train.precision=bf16 needs a GPU, or a CPU with bfloat16 instructions" in said) is not has_instructions


def test_what_quantization_costs_is_said(encoder: Path, store: Path, tmp_path: Path) -> None:
    train(config_with(encoder), store, tmp_path / "run", "cpu")
    exact, quantized = (sayso.load(tmp_path / "run", quantize=kind) for kind in ("none", "int8"))  # type: ignore[arg-type]
    bag = sayso.Bag.from_sentences(["Ana was born in Rome ."], head="Ana", tail="Rome")
    expected, found = (model.predict_proba([bag]) for model in (exact, quantized))
    assert not np.array_equal(found, expected)
    np.testing.assert_allclose(found, expected, rtol=0.2)
    words = ["evaluate", tmp_path / "run", "--data", store, "--part", "validation", "--quantize", "int8"]
    figures = json.loads(command.sayso(*words, "--resamples", 20, "--json").stdout)["runs"][0]
    change = figures["quantization"]["average_precision"]
    assert change["low"] <= change["value"] <= change["high"]
    assert "int8 changes average precision by" in command.sayso(*words, "--resamples", 20).stdout


def test_only_pretrained_encoders_are_quantized(store: Path, tmp_path: Path) -> None:
    train(toy_config(max_epochs=1), store, tmp_path / "run", "cpu")
    with pytest.raises(UserError, match="only pretrained encoders can be quantized"):
        sayso.load(tmp_path / "run", quantize="int8")


def test_sentences_longer_than_the_encoder_reads_are_counted(encoder: Path, store: Path, tmp_path: Path) -> None:
    train(config_with(encoder), store, tmp_path / "run", "cpu")
    lines = [
        make_sentence(" ".join(["ana", *["word"] * num_between, "rome"]), "ana", "rome") for num_between in (3, 30, 4)
    ]
    file = tmp_path / "corpus.jsonl"
    file.write_text("".join(write(line) + "\n" for line in lines))
    said = "1 sentences are too long for the model: words far from both mentions were left out"
    assert said in command.sayso("predict", tmp_path / "run", file).stderr
    found = command.sayso("extract", tmp_path / "run", file, "--out", tmp_path / "facts", "--threshold", 0)
    assert said in found.stdout + found.stderr
