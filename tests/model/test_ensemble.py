import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import sayso
from explain.cases import SIZES
from model.variants import VARIANTS, WIDTH
from sayso.cli import app
from sayso.errors import BadInputError, UserError
from sayso.explain import shapley
from sayso.explain.base import scores_from_autograd
from sayso.explain.gradient_x_input import gradient_x_input
from sayso.explain.leave_one_out import leave_one_out, leave_one_out_by_removal
from sayso.explain.saliency import saliency
from sayso.explain.words import word_scores
from sayso.integrations.onnx import export_onnx
from sayso.model.ensemble import Ensemble, load_parts, model_fingerprint
from sayso.store.store import Store
from sayso.train.config import RunConfig
from sayso.train.seeds import train_seeds
from toy_batch import calibrate, make_bags, make_batch, make_extractor, make_vectors
from toy_evaluation import make_marked_store
from toy_run import make_run, toy_config

over_variants = pytest.mark.parametrize("name", ["attention", "direct+E", "noisy_or"])


def make_ensemble(name: str) -> Ensemble:
    return Ensemble([calibrate(make_extractor(VARIANTS[name], seed), seed) for seed in range(3)]).eval()


@over_variants
def test_its_probability_is_the_mean_of_the_members(name: str) -> None:
    ensemble, batch = make_ensemble(name), make_batch([1, 4, 2])
    expected = torch.stack([member(batch).sigmoid() for member in ensemble.members]).mean(0)
    torch.testing.assert_close(ensemble(batch).sigmoid(), expected)


@over_variants
def test_the_probability_of_a_sentence_alone_is_the_mean_of_the_members(name: str) -> None:
    ensemble, vector_ND = make_ensemble(name), make_vectors(5, 3 * WIDTH)
    score_NR = ensemble.aggregator.own_score(vector_ND, ensemble.scorer)
    members = zip(ensemble.members, vector_ND.chunk(3, 1), strict=True)
    own = [member.aggregator.own_score(part_ND, member.scorer).sigmoid() for member, part_ND in members]
    torch.testing.assert_close(score_NR.sigmoid(), torch.stack(own).mean(0))


@over_variants
def test_every_mechanism_explains_the_logit_of_the_mean_probability(name: str) -> None:
    case = make_ensemble(name), make_vectors(sum(SIZES), 3 * WIDTH), make_bags(SIZES)
    norm = scores_from_autograd(*case, lambda _, slope_ND: slope_ND.abs().sum(1))
    product = scores_from_autograd(*case, lambda x_ND, slope_ND: (x_ND * slope_ND).sum(1))
    torch.testing.assert_close(saliency(*case).detach(), norm.detach())
    torch.testing.assert_close(gradient_x_input(*case).detach(), product.detach())
    torch.testing.assert_close(leave_one_out(*case), leave_one_out_by_removal(*case))


@over_variants
def test_a_large_bag_is_sampled_from_the_same_logits_as_by_running_the_ensemble(name: str) -> None:
    ensemble, vector_LD, bags = make_ensemble(name), make_vectors(12, 3 * WIDTH), make_bags([12])
    order_PL = torch.stack([torch.arange(12), torch.arange(12).flip(0)])
    found, expected = (
        function(ensemble, vector_LD, bags, order_PL) for function in (shapley.prefix_logits, shapley._by_running)
    )
    torch.testing.assert_close(found.detach(), expected.detach())


@over_variants
def test_word_scores_add_up_over_the_members(name: str) -> None:
    ensemble, batch, relation_B = make_ensemble(name), make_batch([1, 4, 2]), torch.tensor([0, 4, 2])
    with torch.no_grad():
        influence_MBR = ensemble.influence_of_members(ensemble.encode(batch.sentences), batch.bags)
    bag_T = batch.bags.bag_N.repeat_interleave(batch.sentences.length_S)
    expected = sum(
        influence_BR[torch.arange(3), relation_B][bag_T] * word_scores(member, batch.sentences, batch.bags, relation_B)
        for member, influence_BR in zip(ensemble.members, influence_MBR, strict=True)
    )
    found = word_scores(ensemble, batch.sentences, batch.bags, relation_B)
    torch.testing.assert_close(found, expected)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_marked_store(tmp_path_factory.mktemp("ensemble"))


@pytest.fixture(scope="module")
def seeds(store: Path) -> Path:
    train_seeds(toy_config("type"), store, store.parent / "both", 2, "cpu")
    return store.parent / "both"


def test_a_folder_of_seeds_is_one_model_that_can_be_saved_and_loaded(seeds: Path, store: Path, tmp_path: Path) -> None:
    bags, model = list(Store(store).bags("test")), sayso.load(seeds)
    expected = np.mean([sayso.load(seeds / name).predict_proba(bags) for name in ("seed-1", "seed-2")], 0)
    np.testing.assert_allclose(model.predict_proba(bags), expected, atol=1e-6)
    assert model.variant == "CNNs+ATT+F (2 seeds)"
    model.save_pretrained(tmp_path / "copy")
    model.save_pretrained(tmp_path / "copy", overwrite=True)
    np.testing.assert_array_equal(sayso.load(tmp_path / "copy").predict_proba(bags), model.predict_proba(bags))
    assert model_fingerprint(tmp_path / "copy") == model_fingerprint(seeds)
    with pytest.raises(UserError, match=r"contains seed-1, which is not part of an ensemble"):
        model.save_pretrained(seeds, overwrite=True)


def test_the_frozen_vectors_are_kept_once(seeds: Path) -> None:
    first, second = load_parts(seeds).extractor.members
    assert first.embedding.word_VW.data_ptr() == second.embedding.word_VW.data_ptr()
    assert not first.embedding.type_KW.equal(second.embedding.type_KW)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda config: replace(config, data=replace(config.data, mentions="words")), "kind of mentions"),
        (lambda config: replace(config, model=VARIANTS["noisy_or"]), "settings"),
    ],
    ids=["mentions", "settings"],
)
def test_runs_that_differ_in_more_than_the_seed_are_refused(
    change: Callable[[RunConfig], RunConfig], message: str, seeds: Path, store: Path, tmp_path: Path
) -> None:
    shutil.copytree(seeds / "seed-1", tmp_path / "seed-1")
    make_run(change(toy_config("type")), store, tmp_path / "seed-3")
    with pytest.raises(BadInputError, match=rf"seed-3: its {message} differs from that of seed-1: only runs that"):
        sayso.load(tmp_path)


def test_an_unfinished_seed_is_refused(seeds: Path, tmp_path: Path) -> None:
    shutil.copytree(seeds, tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "seed-2" / "model")
    with pytest.raises(UserError, match=r"seed-2: the run is not finished"):
        sayso.load(tmp_path / "run")


def test_an_ensemble_is_not_exported_to_onnx(seeds: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"export one of its runs \(seed-1, seed-2\)"):
        export_onnx(sayso.load(seeds), tmp_path / "model.onnx")


def test_commands_accept_a_folder_of_seeds_and_evaluate_each_one_beside_it(
    seeds: Path, store: Path, tmp_path: Path
) -> None:
    def run(*words: object) -> str:
        result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
        assert result.exit_code == 0
        return result.stdout

    corpus = store.parent / "test.txt"
    predicted = [json.loads(line) for line in run("predict", seeds, corpus, "--threshold", 0, "--json").splitlines()]
    run("extract", seeds, corpus, "--out", tmp_path / "facts", "--threshold", 0)
    extracted = [json.loads(line) for line in (tmp_path / "facts" / "facts.jsonl").read_text().splitlines()]
    fact = next(each for each in extracted if each["relation"] == "capital")
    (explained,) = json.loads(
        run("explain", seeds, "--data", store, "--head", fact["head"], "--tail", fact["tail"], "--relation", "capital",
            "--json")
    )  # fmt: skip
    (same,) = (each for each in predicted if all(each[key] == fact[key] for key in ("head", "tail", "relation")))
    assert same["probability"] == pytest.approx(fact["probability"], abs=1e-5)
    assert explained["probability"] == pytest.approx(fact["probability"], abs=1e-5)
    run("evaluate", seeds, "--data", store, "--resamples", 5, "--device", "cpu")
    report = json.loads((seeds / "report.json").read_text())
    assert [each["run"] for each in report["runs"]] == ["both", "both-seed-1", "both-seed-2"]
