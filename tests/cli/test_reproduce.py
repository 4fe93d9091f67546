"""The command on a small invented store: complete, killed, interrupted, with missing data, with a diverging run."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from command import sayso_process as sayso
from reproduce.toy_store import SMALL, make_store
from sayso.cli import app
from sayso.errors import UserError
from sayso.reproduce.paper import VARIANTS

TWO = "CNNs+ATT,DirectSup+F+LD+E"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store(tmp_path_factory.mktemp("reproduce"))


def words(store: Path, out: Path, *more: object, epochs: int = 4) -> list[str]:
    changes = [word for change in (*SMALL, f"train.max_epochs={epochs}") for word in ("--set", change)]
    fixed = ["reproduce", "--data", store, "--out", out, "--resamples", 50, "--device", "cpu", "--name", "toy corpus"]
    return [str(word) for word in (*fixed, *changes, *more)]


def start(store: Path, out: Path, *more: object, epochs: int) -> subprocess.Popen[str]:
    """Start the command in its own process, as a user does."""
    return subprocess.Popen(
        [sys.executable, "-m", "sayso", *words(store, out, *more, epochs=epochs)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"NO_COLOR": "1"},
    )


def wait_for(pattern: str, folder: Path, process: subprocess.Popen[str]) -> None:
    """Wait until the process has written a file with this name."""
    while not list(folder.glob(pattern)):
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


def tables(out: Path) -> dict[str, Any]:
    """Return the results of a reproduction, without times and code fingerprints."""
    summary = json.loads((out / "reproduction.json").read_text())
    for row in summary["extraction"]:
        del row["seconds"]
    del summary["train_seconds"], summary["calls"], summary["code_fingerprints"]
    return summary


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, catch_exceptions=False)


def test_a_dry_run_lists_the_runs_and_writes_nothing(store: Path, tmp_path: Path) -> None:
    result = invoke(*words(store, tmp_path / "out", "--dry-run", "--variants", TWO, "--no-grid"))
    assert "not the paper's release, judging by the counts" in result.stdout
    assert "marks by annotator not named:" in result.stdout
    assert "6 runs, " in result.stdout
    assert "cnns_att-seed-14" in result.stdout
    assert not (tmp_path / "out").exists()


def test_a_quick_look_has_one_seed_unless_more_are_asked_for(store: Path, tmp_path: Path) -> None:
    for more, num in (((), 1), (("--seeds", 2), 2)):
        plan = json.loads(
            invoke(*words(store, tmp_path, "--dry-run", "--json", "--quick", "--variants", TWO, *more)).stdout
        )
        assert len(plan["runs"]) == num * 2


def test_a_quick_look_has_no_grid_unless_it_is_asked_for(store: Path, tmp_path: Path) -> None:
    for more, num in (((), 1), (("--grid",), 5), (("--no-grid",), 1)):
        options = ("--dry-run", "--json", "--quick", "--variants", "CNNs+ATT+LD", *more)
        assert len(json.loads(invoke(*words(store, tmp_path, *options)).stdout)["runs"]) == num


def test_what_a_store_lacks_is_named_by_a_dry_run(tmp_path: Path) -> None:
    bare = make_store(tmp_path, "types", "direct", "vectors", "entity_vectors", "marks")
    plan = json.loads(invoke(*words(bare, tmp_path / "out", "--dry-run", "--json")).stdout)
    assert {run["variant"] for run in plan["runs"]} == {"CNNs+ATT"}
    assert set(plan["left_out"]) == set(VARIANTS) - {"CNNs+ATT"}
    assert "marks: none, so no τ (prepare with --marks)" in plan["store"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--variants", "CNNs+ATTT"), r"no such variant; did you mean CNNs\+ATT"),
        (("--set", "train.epochs=3"), "no such setting"),
        (("--set", "model.use_entities=true"), r"this turns CNNs\+ATT into CNNs\+ATT\+E"),
    ],
)
def test_invalid_options_are_an_error_before_anything_is_written(store: Path, tmp_path: Path, more, said: str) -> None:
    with pytest.raises(UserError, match=said):
        invoke(*words(store, tmp_path / "out", *more))
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_all_variants_make_all_tables_figures_and_claims(store: Path, tmp_path: Path) -> None:
    result = invoke(*words(store, tmp_path / "out", "--seeds", 1, "--jobs", 2))
    assert result.exit_code == 0, result.stderr
    summary = json.loads((tmp_path / "out" / "reproduction.json").read_text())
    assert [row["variant"] for row in summary["extraction"]] == list(VARIANTS)
    assert len({(row["variant"], row["mechanism"], row["band"]) for row in summary["explanation"]}) == 18 * 4 * 2
    assert len(summary["grid"]) == 10
    assert set(summary["curves"]) == set(VARIANTS)
    assert {row["outcome"] for row in summary["claims"]} == {"inconclusive"}
    assert "Table 2: extraction, toy corpus" in result.stdout
    assert "0 to do" in result.stderr
    assert f"open {tmp_path / 'out' / 'reproduction.html'} in a browser" in result.stderr
    again = invoke(*words(store, tmp_path / "out", "--seeds", 1, "--json"))
    assert "26 runs, all already done" in again.stderr
    assert "resamples" not in again.stderr
    more = invoke(*words(store, tmp_path / "out", "--seeds", 1, "--json", "--resamples", 60))
    assert (
        "intervals use 50 resamples, not 60: finished runs keep theirs, so the smallest number is used" in more.stderr
    )
    assert json.loads(again.stdout) == summary


@pytest.mark.slow(40)
def test_killed_at_any_point_and_started_again_it_ends_with_the_same_tables(store: Path, tmp_path: Path) -> None:
    more = ("--variants", TWO, "--seeds", 1, "--no-grid", "--jobs", 1)
    straight = invoke(*words(store, tmp_path / "straight", *more, epochs=12))
    assert straight.exit_code == 0, straight.stderr
    killed = tmp_path / "killed"
    for pattern in ("runs/*/state.safetensors", "outcomes/*.json"):
        process = start(store, killed, *more, epochs=12)
        wait_for(pattern, killed, process)
        process.kill()
        process.communicate()
    assert not (killed / "reproduction.json").exists()
    result = sayso(*words(store, killed, *more, epochs=12))
    assert result.returncode == 0, result.stderr
    assert "0 done already" not in result.stderr
    assert tables(killed) == tables(tmp_path / "straight")


@pytest.mark.slow
def test_a_killed_worker_is_replaced_and_its_run_continues(store: Path, tmp_path: Path) -> None:
    more = ("--variants", "CNNs+ATT", "--seeds", 1, "--no-grid", "--jobs", 1)
    out = tmp_path / "out"
    process = start(store, out, *more, epochs=20)
    wait_for("runs/*/state.safetensors", out, process)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    workers = [int(child) for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]
    os.kill(workers[0], signal.SIGKILL)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert json.loads((out / "reproduction.json").read_text())["num_runs"] == 1


@pytest.mark.slow
def test_ctrl_c_stops_all_processes_says_how_to_continue_and_exits_130(store: Path, tmp_path: Path) -> None:
    more = ("--variants", TWO, "--seeds", 1, "--no-grid", "--jobs", 2)
    process = start(store, tmp_path / "out", *more, epochs=200)
    wait_for("runs/*/state.safetensors", tmp_path / "out", process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert err.splitlines()[-1] == (
        f"sayso: interrupted; the work so far is in {tmp_path / 'out'}: continue with the same command"
    )
    assert "Traceback" not in err


@pytest.mark.slow
def test_runs_that_diverge_are_reported_and_do_not_stop_the_others(store: Path, tmp_path: Path) -> None:
    more = ("--variants", TWO, "--seeds", 1, "--no-grid", "--jobs", 1, "--set", "train.learning_rate=1e30")
    result = invoke(*words(store, tmp_path / "out", *more))
    assert result.exit_code == 0, result.stderr
    assert result.stderr.count("DIVERGED: epoch 1, batch") == 2
    summary = json.loads((tmp_path / "out" / "reproduction.json").read_text())
    assert [run["variant"] for run in summary["diverged"]] == TWO.split(",")
    assert summary["extraction"] == []
    assert "Diverged, excluded from all means: CNNs+ATT, seed 13" in (tmp_path / "out" / "reproduction.md").read_text()
