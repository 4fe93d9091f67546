import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from resealed import rewrite
from sayso.explain.trained_run import open_runs
from sayso.model.calibration import uncalibrated
from sayso.model.checkpoint import load_model
from sayso.model.encoders.transformer import TransformerConfig
from sayso.model.extractor import ModelConfig
from sayso.model.predict import predict_logits
from sayso.store.store import MANIFEST, Store
from sayso.train.config import TrainConfig
from sayso.train.epoch import ProcessShard
from sayso.train.loop import (
    LossTally,
    TrainingError,
    corpus_weights,
    make_optimizer,
    rate_factor,
    refuse_growth,
    set_rates,
)
from sayso.train.run import Callbacks, train
from toy_batch import make_extractor
from train.toy_run import toy_config


def tally_of(*rows: tuple[float, float, float, int], epoch: int = 3) -> LossTally:
    """Return a tally of batches, each given as bag term, sentence term, gradient norm and number of bags."""
    tally = LossTally(epoch, ProcessShard())
    for bag, sentence, norm, num_bags in rows:
        tally.add({"bag": torch.tensor(bag), "sentence": torch.tensor(sentence)}, torch.tensor(norm), num_bags)
    return tally


def test_a_batch_counts_by_its_bags() -> None:
    assert tally_of((1.0, 2.0, 9.0, 30), (5.0, 6.0, 9.0, 10)).means() == {"bag": 2.0, "sentence": 3.0}


@pytest.mark.parametrize("number", [1, 49, 50, 51, 120])
def test_the_first_batch_with_nan_is_named(number: int) -> None:
    rows = [(1.0, 1.0, 1.0, 1)] * (number - 1) + [(1.0, float("nan"), 1.0, 1)] * 3
    with pytest.raises(TrainingError) as error:
        tally_of(*rows).means()
    assert f"epoch 3, batch {number}: the sentence term of the loss is nan" in str(error.value)
    assert "the state after epoch 2 is kept" in str(error.value)


def test_a_gradient_that_is_not_finite_is_named_though_the_loss_is() -> None:
    with pytest.raises(TrainingError, match="batch 2: the norm of the gradient is inf; no epoch was finished"):
        tally_of((1.0, 1.0, 1.0, 1), (1.0, 1.0, float("inf"), 1), epoch=1).means()


def test_a_loss_a_thousand_times_the_first_has_diverged() -> None:
    refuse_growth(1, 3_000.0, at_first=3.0)
    refuse_growth(1, 1_000.0, at_first=0.001)
    with pytest.raises(TrainingError, match=r"epoch 3, loss 1e\+16: training has diverged \(the initial loss was 3"):
        refuse_growth(3, 1e16, at_first=3.0)


def test_the_first_loss_is_the_sum_of_the_first_batchs_terms() -> None:
    assert tally_of((1.0, 2.0, 9.0, 30), (5.0, 6.0, 9.0, 10)).first == 3.0


SETTINGS = TrainConfig(max_epochs=2, warmup=0.25, schedule="linear", weight_decay=0.1, pretrained_learning_rate=1e-5)


def test_pretrained_weights_have_their_own_rate_and_vectors_no_decay() -> None:
    extractor = make_extractor(ModelConfig(encoder=TransformerConfig()))
    optimizer = make_optimizer(extractor, extractor.encoder, SETTINGS)
    pretrained = {id(parameter) for parameter in extractor.encoder.pretrained_parameters()}
    assert sum(len(group["params"]) for group in optimizer.param_groups) == len(list(extractor.parameters()))
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            assert group["lr"] == (1e-5 if id(parameter) in pretrained else 1e-3)
            assert group["weight_decay"] == (0.1 if parameter.ndim > 1 else 0.0)


def test_without_pretrained_weights_and_decay_there_is_one_group() -> None:
    extractor = make_extractor(ModelConfig())
    assert len(make_optimizer(extractor, extractor.encoder, TrainConfig()).param_groups) == 1


def test_rates_rise_and_fall_over_the_whole_run() -> None:
    factors = [rate_factor(SETTINGS, step, 8) for step in range(8)]
    assert factors == pytest.approx([0.5, 1, 1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6])
    extractor = make_extractor(ModelConfig())
    optimizer = make_optimizer(extractor, extractor.encoder, SETTINGS)
    set_rates(optimizer, SETTINGS, 5, 8)
    assert {group["lr"] for group in optimizer.param_groups} == {0.5e-3}
    set_rates(optimizer, replace(SETTINGS, schedule="constant"), 5, 8)
    assert {group["lr"] for group in optimizer.param_groups} == {1e-3}


def test_decay_is_decoupled_as_in_adamw() -> None:
    extractor = make_extractor(ModelConfig())
    ours = make_optimizer(extractor, extractor.encoder, replace(SETTINGS, warmup=0.0))
    other = make_extractor(ModelConfig())
    theirs = torch.optim.AdamW(
        [
            {"params": [p for p in other.parameters() if p.ndim > 1], "weight_decay": 0.1},
            {"params": [p for p in other.parameters() if p.ndim <= 1], "weight_decay": 0.0},
        ],
        lr=1e-3,
    )
    for model, optimizer in ((extractor, ours), (other, theirs)):
        for number, parameter in enumerate(model.parameters()):
            parameter.grad = torch.full_like(parameter, 0.1 * (number + 1))
        optimizer.step()
    for one, two in zip(extractor.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(one, two)


def trained(store: Path, out: Path, calibration: str = "affine") -> Path:
    train(toy_config(calibration=calibration), store, out, "cpu")
    return out


def log_loss(logit_BR: np.ndarray, label_BR: np.ndarray, weight_B: np.ndarray) -> float:
    return float((weight_B[:, None] * (np.logaddexp(0, logit_BR) - label_BR * logit_BR)).sum())


def test_calibration_comes_after_training_and_leaves_the_weights_alone(store: Path, tmp_path: Path) -> None:
    with_it, without = (trained(store, tmp_path / name, name) for name in ("affine", "none"))
    for name in ("model.safetensors", "words.arrow"):
        assert (with_it / "model" / name).read_bytes() == (without / "model" / name).read_bytes()
    assert load_model(without).extractor.calibration is None
    calibration = load_model(with_it).extractor.calibration
    assert calibration is not None
    assert calibration.fitted_on["pairs"] == "validation"
    assert calibration.fitted_on["num_pairs"] == Store(store).manifest["parts"]["validation"]["bags"]


def test_calibration_makes_the_labels_of_validation_more_probable(store: Path, tmp_path: Path) -> None:
    (run,) = open_runs([trained(store, tmp_path / "run")], Store(store), "validation")
    after = predict_logits(run.model.extractor, run.part)
    with uncalibrated(run.model.extractor):
        before = predict_logits(run.model.extractor, run.part)
    weight_B = np.ones(len(after))
    assert log_loss(after, run.label_BR, weight_B) < log_loss(before, run.label_BR, weight_B)
    assert after.sum() != pytest.approx(before.sum())


def test_probabilities_are_lower_if_only_a_share_of_the_na_pairs_was_kept(store: Path, tmp_path: Path) -> None:
    whole = load_model(trained(store, tmp_path / "whole")).extractor.calibration
    sampled_store = tmp_path / "store"
    sampled_store.mkdir()
    for path in store.iterdir():
        (sampled_store / path.name).write_bytes(path.read_bytes())
    rewrite(sampled_store / MANIFEST, na_share={"train": 0.1, "validation": 0.1})
    sampled = load_model(trained(sampled_store, tmp_path / "sampled")).extractor.calibration
    assert whole is not None
    assert sampled is not None
    # The logits at which a fact is as probable as not.
    even_whole, even_sampled = (-each.shift_R / each.scale_R for each in (whole, sampled))
    assert bool((even_sampled > even_whole).all())
    assert sampled.fitted_on["largest_weight"] == pytest.approx(10)


def test_an_na_pair_stands_for_those_that_were_left_out(store: Path) -> None:
    table = Store(store).part("validation")
    weight_B = corpus_weights(table, 0.25)
    assert set(weight_B[table.is_positive_B].tolist()) == {1.0}
    assert set(weight_B[~table.is_positive_B].tolist()) == {4.0}


def test_a_resumed_run_is_calibrated_like_the_one_that_ran_through(store: Path, tmp_path: Path) -> None:
    whole = trained(store, tmp_path / "whole")
    config, again = toy_config(), tmp_path / "again"

    class StopError(Exception):
        pass

    def stop(_: object) -> None:
        raise StopError

    with pytest.raises(StopError):
        train(config, store, again, "cpu", callbacks=Callbacks(on_epoch=stop))
    train(config, store, again, "cpu", resume=True)
    tables = [json.loads((run / "model" / "config.json").read_text())["calibration"] for run in (whole, again)]
    assert tables[0] == tables[1]
