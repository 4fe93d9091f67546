"""A calibrated model predicts scale · logit + shift, and every explanation is that of this logit."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from explain.cases import SIZES, Case, integration_error
from model.variants import VARIANTS, WIDTH
from sayso.errors import BadInputError
from sayso.explain import shapley
from sayso.explain.attention import attention
from sayso.explain.base import empty_bag_logits, scores_from_autograd
from sayso.explain.gradient_x_input import gradient_x_input
from sayso.explain.leave_one_out import leave_one_out, leave_one_out_by_removal
from sayso.explain.saliency import saliency
from sayso.integrations.onnx import inputs_of
from sayso.integrations.onnx_graph import FlatExtractor
from sayso.model.calibration import is_calibrated, uncalibrated
from sayso.model.checkpoint import CONFIG, load_model, save_model
from sayso.model.ensemble import Ensemble, load_parts, model_fingerprint
from toy_batch import calibrate, make_bags, make_batch, make_extractor, make_vectors
from toy_run import make_run, make_store, toy_config


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calibrated")
    return make_run(toy_config(), make_store(folder), folder / "run") / "model"


over_variants = pytest.mark.parametrize("name", VARIANTS)


def make_case(name: str, sizes: list[int] = SIZES) -> Case:
    return calibrate(make_extractor(VARIANTS[name]), seed=5), make_vectors(sum(sizes), WIDTH), make_bags(sizes)


@over_variants
def test_the_logits_are_mapped_relation_by_relation(name: str) -> None:
    extractor, vector_ND, bags = make_case(name)
    calibration = extractor.calibration
    assert calibration is not None
    with torch.no_grad():
        found = extractor.classify(vector_ND, bags)
        with uncalibrated(extractor):
            assert not is_calibrated(extractor)
            before = extractor.classify(vector_ND, bags)
    assert is_calibrated(extractor)
    torch.testing.assert_close(found, calibration.scale_R * before + calibration.shift_R)
    assert found.argsort(0).equal(before.argsort(0))


@over_variants
def test_gradients_are_those_of_the_calibrated_logit(name: str) -> None:
    case = make_case(name)
    norm = scores_from_autograd(*case, lambda _, slope_ND: slope_ND.abs().sum(1))
    product = scores_from_autograd(*case, lambda x_ND, slope_ND: (x_ND * slope_ND).sum(1))
    torch.testing.assert_close(saliency(*case).detach(), norm.detach())
    torch.testing.assert_close(gradient_x_input(*case).detach(), product.detach())
    assert float(integration_error(case, num_steps=400).max()) < 0.1


@over_variants
def test_removals_are_those_of_the_calibrated_logit(name: str) -> None:
    case = make_case(name)
    torch.testing.assert_close(leave_one_out(*case), leave_one_out_by_removal(*case))


@over_variants
def test_shapley_values_add_up_to_the_calibrated_logit(name: str) -> None:
    extractor, vector_ND, bags = make_case(name, [3, 12])
    with torch.no_grad():
        gain_BR = extractor.classify(vector_ND, bags) - empty_bag_logits(extractor, bags)
    score_NR = shapley.shapley(extractor, vector_ND, bags)
    torch.testing.assert_close(torch.stack([part.sum(0) for part in score_NR.split([3, 12])]), gain_BR)
    order_PL, one = torch.stack([torch.arange(12), torch.arange(12).flip(0)]), make_bags([12])
    found, expected = (
        scan(extractor, vector_ND[3:], one, order_PL) for scan in (shapley.prefix_logits, shapley._by_running)
    )
    torch.testing.assert_close(found.detach(), expected.detach())


@over_variants
def test_every_mechanism_ranks_the_sentences_as_before_calibration(name: str) -> None:
    case = make_case(name, [4, 3])
    for explain in (attention, saliency, gradient_x_input, leave_one_out, shapley.shapley):
        found = explain(*case).detach()
        with uncalibrated(case[0]):
            before = explain(*case).detach()
        for now, then in zip(found.split([4, 3]), before.split([4, 3]), strict=True):
            assert now.argsort(0).equal(then.argsort(0)), explain.__name__


@over_variants
def test_the_exported_graph_gives_the_calibrated_logits(name: str) -> None:
    extractor = calibrate(make_extractor(VARIANTS[name], dtype=torch.float32))
    batch = make_batch([2, 3])
    with torch.no_grad():
        torch.testing.assert_close(FlatExtractor(extractor)(**inputs_of(extractor, batch)), extractor(batch))


def test_an_ensemble_is_uncalibrated_member_by_member() -> None:
    members = [make_extractor(VARIANTS["attention"], seed) for seed in range(2)]
    batch, before = make_batch([2, 3]), Ensemble(members)(make_batch([2, 3]))
    ensemble = Ensemble([calibrate(member) for member in members])
    assert not ensemble(batch).allclose(before)
    with uncalibrated(ensemble):
        assert ensemble(batch).equal(before)


def test_a_calibration_is_stored_in_the_settings_and_not_in_the_weights(model_folder: Path, tmp_path: Path) -> None:
    parts = load_model(model_folder)
    assert parts.extractor.calibration is not None
    assert not [name for name in parts.extractor.state_dict() if "calibration" in name]
    save_model(tmp_path / "copy", parts)
    again = load_parts(tmp_path / "copy").extractor.calibration
    assert again is not None
    assert again.to_table() == parts.extractor.calibration.to_table()
    assert model_fingerprint(tmp_path / "copy") == model_fingerprint(model_folder)
    assert "calibrated so that" in (tmp_path / "copy" / "README.md").read_text()


def test_an_older_model_without_calibration_loads_and_has_its_own_fingerprint(
    model_folder: Path, tmp_path: Path
) -> None:
    parts = load_model(model_folder)
    parts.extractor.calibration = None
    save_model(tmp_path / "plain", parts)
    assert "calibration" not in json.loads((tmp_path / "plain" / CONFIG).read_text())
    assert load_model(tmp_path / "plain").extractor.calibration is None
    assert model_fingerprint(tmp_path / "plain") != model_fingerprint(model_folder)


@pytest.mark.parametrize("change", [{"scale": [1.0]}, {"scale": [0.0, 1.0]}, {"shift": []}, {"shift": "none"}])
def test_a_calibration_that_does_not_fit_the_relations_is_refused(model_folder: Path, tmp_path: Path, change) -> None:
    parts = load_model(model_folder)
    save_model(tmp_path / "bad", parts)
    path = tmp_path / "bad" / CONFIG
    settings = json.loads(path.read_text())
    settings["calibration"] |= change
    path.write_text(json.dumps(settings))
    with pytest.raises(BadInputError, match="calibration"):
        load_model(tmp_path / "bad")


def test_probabilities_are_finite_for_extreme_logits() -> None:
    extractor = calibrate(make_extractor(VARIANTS["attention"]))
    found = extractor.calibrated(torch.tensor([[-1e4] * 5, [1e4] * 5], dtype=torch.float64)).sigmoid()
    assert bool(found.isfinite().all())
    assert np.all(found.numpy()[0] <= found.numpy()[1])
