import json
import statistics
from pathlib import Path

import pytest

from sayso.errors import UserError
from sayso.io.folder import locked
from sayso.train.run import Callbacks, train
from sayso.train.seeds import SeedRun, summarise, train_seeds
from sayso.train.state import RunStatus
from train.toy_run import toy_config


def ended(seed: int, area: float, precision: float) -> SeedRun:
    status = RunStatus(epoch=3, best_epoch=2, best_area=area, best_average_precision=precision, is_finished=True)
    return SeedRun(seed=seed, folder=Path(f"seed-{seed}"), status=status)


def test_figures_are_summed_up_as_mean_and_standard_deviation() -> None:
    summary = summarise([ended(1, 0.1, 0.5), ended(2, 0.2, 0.5), ended(3, 0.6, 0.5)])
    assert summary["area_up_to_recall_0.4"]["mean"] == pytest.approx(0.3)
    assert summary["area_up_to_recall_0.4"]["standard_deviation"] == pytest.approx(statistics.stdev([0.1, 0.2, 0.6]))
    assert summary["average_precision"] == {"mean": 0.5, "standard_deviation": 0.0}
    assert summarise([ended(1, 0.1, 0.5)])["average_precision"]["standard_deviation"] is None


def test_each_seed_has_its_run_and_equals_the_run_with_that_seed_alone(store: Path, tmp_path: Path) -> None:
    runs = train_seeds(toy_config(), store, tmp_path / "both", 2, "cpu")
    alone = train(toy_config(seed=14), store, tmp_path / "alone", "cpu")
    assert [(run.seed, run.folder.name) for run in runs] == [(13, "seed-13"), (14, "seed-14")]
    assert runs[1].status.figures() == alone.figures()
    assert runs[0].status.figures() != runs[1].status.figures()
    written = json.loads((tmp_path / "both" / "seeds.json").read_text())
    assert written["summary"] == summarise(runs)
    assert [row["seed"] for row in written["runs"]] == [13, 14]


def test_resuming_skips_the_runs_that_have_ended(store: Path, tmp_path: Path) -> None:
    first = train_seeds(toy_config(), store, tmp_path, 1, "cpu")
    skipped: list[SeedRun] = []
    epochs: list[dict] = []
    runs = train_seeds(toy_config(), store, tmp_path, 2, "cpu", True, Callbacks(on_epoch=epochs.append), skipped.append)
    assert skipped == first == runs[:1]
    assert [row["epoch"] for row in epochs] == [1, 2]


def test_a_folder_that_is_taken_is_refused_before_anything_is_trained(store: Path, tmp_path: Path) -> None:
    train(toy_config(seed=14), store, tmp_path / "seed-14", "cpu")
    with pytest.raises(UserError, match="seed-14: the folder already contains a run"):
        train_seeds(toy_config(), store, tmp_path, 2, "cpu")
    assert not (tmp_path / "seed-13").exists()


def test_only_one_process_trains_the_seeds_of_a_folder(store: Path, tmp_path: Path) -> None:
    with locked(tmp_path, "sayso train"), pytest.raises(UserError, match="`sayso train` is running in this folder"):
        train_seeds(toy_config(), store, tmp_path, 2, "cpu")
    assert list(tmp_path.iterdir()) == []


def test_seeds_do_not_mix_with_a_single_run(store: Path, tmp_path: Path) -> None:
    train(toy_config(), store, tmp_path, "cpu")
    with pytest.raises(UserError, match="the folder already contains a single run"):
        train_seeds(toy_config(), store, tmp_path, 2, "cpu")


def test_seeds_that_were_drawn_are_found_again(store: Path, tmp_path: Path) -> None:
    first = train_seeds(toy_config(seed=-1), store, tmp_path, 2, "cpu")
    again = train_seeds(toy_config(seed=-1), store, tmp_path, 2, "cpu", resume=True)
    assert [run.seed for run in again] == [run.seed for run in first]
    assert first[1].seed == first[0].seed + 1
