import json
from pathlib import Path

import numpy as np
import pytest

from resealed import rewrite
from sayso.explain.trained_run import open_runs
from sayso.model.calibration import uncalibrated
from sayso.model.checkpoint import load_model
from sayso.model.predict import predict_logits
from sayso.store.store import MANIFEST, Store
from sayso.train.calibrate import corpus_weights
from sayso.train.run import Callbacks, train
from train.toy_run import toy_config


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


def test_it_makes_the_labels_of_validation_more_probable(store: Path, tmp_path: Path) -> None:
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
