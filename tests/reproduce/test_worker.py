from pathlib import Path

import pytest

from reproduce.toy_store import SMALL
from sayso.reproduce.folder import ReproductionFolder, RunResult, read_result
from sayso.reproduce.paper import variant_config
from sayso.reproduce.plan import PlannedRun
from sayso.reproduce.worker import Event, RunWorker, Task


def made(
    store: Path, out: Path, *changes: str, label: str = "", keeps_models: bool = False
) -> tuple[RunResult, list[Event]]:
    """Return the result of a run, and its events."""
    events: list[Event] = []
    config = variant_config("CNNs+ATT", [*SMALL, *changes])
    job = PlannedRun(variant="CNNs+ATT", config=config, label=label)
    task = Task(store=store, out=out, device="cpu", num_resamples=20, keeps_models=keeps_models)
    with ReproductionFolder(out).locked():
        RunWorker(task, events.append).make(job)
    assert (out / "runs" / job.key).exists() == keeps_models
    return read_result(ReproductionFolder(out).result_of(job)), events


def test_a_run_is_trained_assessed_and_reported(store: Path, tmp_path: Path) -> None:
    result, events = made(store, tmp_path, "train.max_epochs=4", keeps_models=True)
    assert result.is_finished
    assert set(result.test) > {"average_precision", "max_f1"}
    assert [event.kind for event in events] == ["begun", "epoch", "epoch", "epoch", "epoch", "done"]
    assert [event.epoch for event in events] == [0, 1, 2, 3, 4, 4]


def test_a_run_of_the_grid_never_uses_the_test_part(store: Path, tmp_path: Path) -> None:
    result, _ = made(store, tmp_path, "train.max_epochs=4", label="lambda-10")
    assert result.is_finished
    assert result.validation
    assert (result.test, result.resampled, result.orders) == ({}, {}, {})


@pytest.mark.parametrize(
    ("change", "why"),
    [("train.learning_rate=1e30", "epoch 1, batch"), ("train.learning_rate=1e-12", "is no better than chance")],
)
def test_a_run_that_learns_nothing_has_diverged_and_has_no_figures(
    store: Path, tmp_path: Path, change: str, why: str
) -> None:
    result, events = made(store, tmp_path, "train.max_epochs=1", change)
    assert not result.is_finished
    assert why in result.why
    assert result.test == {}
    assert events[-1].text == result.why
