from pathlib import Path

import pytest

from reproduce.toy_store import SMALL
from sayso.reproduce.folder import Folder
from sayso.reproduce.outcome import Outcome, read_outcome
from sayso.reproduce.plan import Job
from sayso.reproduce.variant import variant_config
from sayso.reproduce.worker import Event, Task, Workbench


def made(
    store: Path, out: Path, *changes: str, label: str = "", keeps_models: bool = False
) -> tuple[Outcome, list[Event]]:
    """Return what a run leaves, and what it told while it was made."""
    events: list[Event] = []
    config = variant_config("CNNs+ATT", [*SMALL, *changes])
    job = Job(variant="CNNs+ATT", config=config, label=label)
    task = Task(store=store, out=out, device="cpu", num_resamples=20, keeps_models=keeps_models)
    with Folder(out).taken():
        Workbench(task, events.append).do(job)
    assert (out / "runs" / job.key).exists() == keeps_models
    return read_outcome(Folder(out).outcome_of(job)), events


def test_a_run_is_trained_assessed_and_told_of(store: Path, tmp_path: Path) -> None:
    outcome, events = made(store, tmp_path, "train.max_epochs=4", keeps_models=True)
    assert outcome.is_finished
    assert set(outcome.test) > {"average_precision", "max_f1"}
    assert [event.kind for event in events] == ["begun", "epoch", "epoch", "epoch", "epoch", "done"]
    assert [event.epoch for event in events] == [0, 1, 2, 3, 4, 4]


def test_a_try_never_looks_at_the_test_part(store: Path, tmp_path: Path) -> None:
    outcome, _ = made(store, tmp_path, "train.max_epochs=4", label="lambda-10")
    assert outcome.is_finished
    assert outcome.validation
    assert (outcome.test, outcome.resampled, outcome.orders) == ({}, {}, {})


@pytest.mark.parametrize(
    ("change", "why"),
    [("train.learning_rate=1e30", "epoch 1, batch"), ("train.learning_rate=1e-12", "is no better than chance")],
)
def test_a_run_that_learns_nothing_has_diverged_and_has_no_figures(
    store: Path, tmp_path: Path, change: str, why: str
) -> None:
    outcome, events = made(store, tmp_path, "train.max_epochs=1", change)
    assert not outcome.is_finished
    assert why in outcome.why
    assert outcome.test == {}
    assert events[-1].text == outcome.why
