"""Training with folds: every fact is withheld once, then a model is trained on all of them."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from sayso.errors import BadInputError, UserError
from sayso.invent.settings import InventSettings
from sayso.invent.write import invent
from sayso.model.checkpoint import load_model
from sayso.store.inputs import Inputs, PrepareSettings
from sayso.store.prepare import prepare
from sayso.store.store import Store
from sayso.store.table import BagTable
from sayso.train.config import load_config
from sayso.train.data import RunData
from sayso.train.folder import read_metrics
from sayso.train.folds import PairsOfFolds, best_epoch, match_tails
from sayso.train.held_out import held_out_report, read_held_out, read_kb_prior
from sayso.train.run import Callbacks, train
from sayso.train.seeds import train_seeds
from train.toy_run import toy_config

NUM_FOLDS = 3


@pytest.fixture(scope="module")
def folded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("folded")
    settings = InventSettings.of_size("toy", train_sentences=300, test_sentences=40, direct_sentences=40, documents=1)
    invent(folder / "corpus", settings)
    inputs = Inputs(
        train=folder / "corpus" / "train.jsonl",
        relations=folder / "corpus" / "relations.tsv",
        types=folder / "corpus" / "types.json",
    )
    prepare(inputs, PrepareSettings(folds=NUM_FOLDS), folder / "store", lambda *_: None)
    return folder / "store"


@pytest.fixture(scope="module")
def run(folded: Path) -> Path:
    train(toy_config(), folded, folded.parent / "run", "cpu")
    return folded.parent / "run"


def pairs_with_facts(table: BagTable) -> set[tuple[int, int]]:
    return set(zip(table.head_B[table.is_positive_B].tolist(), table.tail_B[table.is_positive_B].tolist(), strict=True))


def test_each_fact_is_withheld_once_and_predicted_by_a_model_that_was_not_told_it(folded: Path) -> None:
    store, num_facts = Store(folded), 0
    for fold in range(1, NUM_FOLDS + 1):
        data = RunData(store, toy_config(), withheld=fold)
        positive, withheld = (pairs_with_facts(part.table) for part in (data.train, data.validation))
        assert withheld
        assert not positive & withheld
        num_facts += len(data.validation.table.relations.value)
    assert num_facts == store.manifest["parts"]["train"]["facts"]


def test_the_last_model_learns_all_facts_for_the_epochs_that_suit_the_folds(folded: Path, run: Path) -> None:
    metrics = [read_metrics(run / "folds" / f"fold-{fold}") for fold in range(1, NUM_FOLDS + 1)]
    report, rows = held_out_report(run), read_metrics(run)
    assert report["num_epochs"] == best_epoch(metrics) == len(rows)
    assert not [name for name in rows[0] if name.startswith("validation")]
    parts = load_model(run)
    assert parts.training["best_epoch"] == len(rows)
    assert parts.extractor.calibration is not None
    assert parts.extractor.calibration.fitted_on["pairs"] == f"{NUM_FOLDS} folds"
    assert sum(report["num_facts"]) == Store(folded).manifest["parts"]["train"]["facts"]
    assert set(report["calibration_error"]) == {"before", "after"}
    facts = read_held_out(run)
    assert facts is not None
    assert facts.is_known_Q.sum() == sum(report["num_facts"])
    prior = read_kb_prior(run)
    assert prior is not None
    assert len(prior.object_R) == len(report["num_facts"])
    # Parameters of the folds are not kept.
    assert max(path.stat().st_size for path in (run / "folds").glob("*/state.safetensors")) < 10_000


def killed_after(num_epochs: int) -> Callbacks:
    """Return callbacks that end a run after this many epochs, in any fold."""
    seen = []

    def on_epoch(row: dict) -> None:
        seen.append(row)
        if len(seen) == num_epochs:
            raise KeyboardInterrupt

    return Callbacks(on_epoch=on_epoch)


@pytest.mark.parametrize("num_epochs", [1, 2, 3, 2 * NUM_FOLDS, 2 * NUM_FOLDS + 1])
def test_a_killed_run_resumes_and_ends_like_one_that_ran_through(
    folded: Path, run: Path, tmp_path: Path, num_epochs: int
) -> None:
    out = tmp_path / "again"
    with pytest.raises(KeyboardInterrupt):
        train(toy_config(), folded, out, "cpu", callbacks=killed_after(num_epochs))
    with pytest.raises(UserError, match="already contains a run"):
        train(toy_config(), folded, out, "cpu")
    train(toy_config(), folded, out, "cpu", resume=True)
    for name in ("model/model.safetensors", "folds/held-out/facts.arrow", "folds/held-out/report.json"):
        assert (out / name).read_bytes() == (run / name).read_bytes(), name
    calibrations = [load_model(each).extractor.calibration.to_table() for each in (out, run)]
    assert calibrations[0] == calibrations[1]


def test_a_run_that_was_killed_before_its_calibration_is_calibrated_when_resumed(
    folded: Path, run: Path, tmp_path: Path
) -> None:
    out = tmp_path / "copy"
    shutil.copytree(run, out)
    shutil.rmtree(out / "folds" / "held-out")
    path = out / "model" / "config.json"
    settings = json.loads(path.read_text())
    del settings["calibration"]
    path.write_text(json.dumps(settings))
    train(toy_config(), folded, out, "cpu", resume=True)
    assert load_model(out).extractor.calibration is not None
    assert read_held_out(out) is not None


def test_a_random_seed_is_shared_by_all_folds(folded: Path, tmp_path: Path) -> None:
    train(toy_config(seed=-1), folded, tmp_path / "run", "cpu")
    folders = [tmp_path / "run", *(tmp_path / "run" / "folds").glob("fold-*")]
    assert len({load_config(folder / "config.toml").seed for folder in folders}) == 1
    assert load_config(tmp_path / "run" / "config.toml").seed >= 0


def test_several_seeds_have_folds_of_their_own_and_finished_ones_are_skipped(folded: Path, tmp_path: Path) -> None:
    skipped = []
    train_seeds(toy_config(), folded, tmp_path / "seeds", 2, "cpu")
    train_seeds(toy_config(), folded, tmp_path / "seeds", 2, "cpu", True, on_skip=skipped.append)
    assert len(skipped) == 2
    one, together = read_held_out(tmp_path / "seeds" / "seed-13"), read_held_out(tmp_path / "seeds")
    assert one is not None
    assert together is not None
    assert together.is_known_Q.sum() == one.is_known_Q.sum()
    shutil.rmtree(tmp_path / "seeds" / "seed-14" / "folds" / "held-out")
    assert read_held_out(tmp_path / "seeds") is None


def test_without_calibration_the_held_out_facts_have_the_plain_probabilities(folded: Path, tmp_path: Path) -> None:
    train(toy_config(calibration="none"), folded, tmp_path / "run", "cpu")
    assert load_model(tmp_path / "run").extractor.calibration is None
    assert read_held_out(tmp_path / "run") is not None


def test_all_folds_and_the_last_training_keep_their_last_epoch_if_asked_for(folded: Path, tmp_path: Path) -> None:
    status = train(toy_config(max_epochs=3, patience=1, keep="last"), folded, tmp_path / "run", "cpu")  # type: ignore[arg-type]
    assert status.epoch == status.best_epoch == held_out_report(tmp_path / "run")["num_epochs"] == 3


def test_the_best_epoch_is_that_of_all_folds_together() -> None:
    def rows(*areas: float) -> list[dict]:
        return [{"validation/area_up_to_recall_0.4": area, "validation/average_precision": 0.0} for area in areas]

    assert best_epoch([rows(0.1, 0.3, 0.2), rows(0.3, 0.2, 0.2, 0.9)]) == 2
    assert best_epoch([rows(0.2, 0.2), rows(0.2, 0.2)]) == 1


def test_logits_of_a_fold_are_brought_to_the_scale_of_the_last_model(folded: Path) -> None:
    data, rng = RunData(Store(folded), toy_config()), np.random.default_rng(0)
    sizes = [RunData(data.store, toy_config(), withheld=fold).fold.table.num_bags for fold in (1, 2, 3)]
    last = [rng.normal(-3, 2, (size, data.num_relations)) for size in sizes]
    pairs = PairsOfFolds(data, [2.0 * last[0] + 1, last[1] - 2, last[2]])
    assert match_tails(2.0 * np.arange(300.0) + 1, np.arange(300.0)) == pytest.approx((0.5, -0.5))
    assert match_tails(np.arange(9.0), np.arange(9.0) + 5) == (1.0, 0.0)
    aligned = pairs.aligned(np.concatenate(last)).logit_BR
    assert np.abs(aligned - np.concatenate(last)).max() < np.abs(pairs.logit_BR - np.concatenate(last)).max() + 1e-9


def test_logits_of_another_store_are_refused(folded: Path) -> None:
    data = RunData(Store(folded), toy_config())
    with pytest.raises(BadInputError, match="the folds of the run are not those of the store"):
        PairsOfFolds(data, [np.zeros((2, data.num_relations))] * NUM_FOLDS)
