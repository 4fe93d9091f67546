import io

import pytest
from rich.console import Console

from sayso.cli.progress import Overview
from sayso.reproduce.paper import NINE, variant_config
from sayso.reproduce.plan import PlannedRun, RunPlan
from sayso.reproduce.run import PlanStatus
from sayso.reproduce.worker import Event

JOBS = [PlannedRun(variant=name, config=variant_config(name, ["train.max_epochs=20"])) for name in NINE[:5]]


@pytest.fixture
def overview() -> Overview:
    """Five runs of at most 20 epochs: one already done, two in parallel."""
    shown = Overview(is_live=False)
    plan = RunPlan(runs=JOBS, left_out={"DirectSup+E": "the store has no entity vectors"})
    shown.begin(PlanStatus(plan=plan, done=JOBS[:1], todo=JOBS[1:], num_workers=2))
    return shown


def test_there_is_no_estimate_before_the_first_epoch(overview: Overview) -> None:
    overview.update(Event("begun", JOBS[1].key))
    assert overview.seconds_left() is None


def test_the_time_left_is_estimated_from_the_epochs_so_far(overview: Overview) -> None:
    overview.update(Event("epoch", JOBS[1].key, epoch=5, seconds=2.0))
    # One run has 15 epochs to go, three have 20; two epochs go at a time.
    assert overview.seconds_left() == (15 + 3 * 20) * 2.0 / 2


def test_after_finished_runs_the_others_are_expected_to_take_as_many_epochs(overview: Overview) -> None:
    overview.update(Event("epoch", JOBS[1].key, epoch=10, seconds=2.0))
    overview.update(Event("done", JOBS[1].key, epoch=10, seconds=20.0))
    assert overview.num_done == 2
    assert overview.seconds_left() == 3 * 10 * 2.0 / 2


def test_what_is_left_out_done_and_diverged_is_a_line_each(
    capsys: pytest.CaptureFixture[str], overview: Overview
) -> None:
    overview.update(Event("done", JOBS[1].key, epoch=10, seconds=20.0))
    overview.update(Event("done", JOBS[2].key, text="the loss is nan"))
    assert capsys.readouterr().err.splitlines() == [
        "left out: DirectSup+E: the store has no entity vectors",
        "5 runs, 1 already done; 2 in parallel, at most 20 epochs each",
        "directsup-seed-13: 10 epochs, 20 s; 2 done, 0 running, 3 to do",
        "cnns_att_f-seed-13: DIVERGED: the loss is nan; 3 done, 0 running, 2 to do",
    ]


def test_a_finished_plan_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    plan = RunPlan(runs=JOBS, left_out={})
    Overview(is_live=False).begin(PlanStatus(plan=plan, done=JOBS, todo=[], num_workers=1))
    assert capsys.readouterr().err == "5 runs, all already done\n"


def test_the_live_table_has_a_row_for_every_run_in_progress(overview: Overview) -> None:
    for job in JOBS[1:3]:
        overview.update(Event("epoch", job.key, epoch=5, seconds=2.0))
    console = Console(file=io.StringIO(), width=100)
    console.print(overview)
    text = console.file.getvalue()
    assert "1 done, 2 running, 2 to do, about 0:01:10 left" in text
    assert text.count("epoch 5/20") == 2
