"""`sayso new` and `sayso run` as users call them."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from command import sayso
from project.toy_project import change, make_project, write_world
from sayso.cli import app


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder, which is the current one."""
    write_world(tmp_path / "my files")
    monkeypatch.chdir(tmp_path)
    return tmp_path


NEW = (
    *("new", "my project", "--documents", "my files/articles.jsonl", "--kb", "my files/kb.tsv"),
    *("--names", "my files/names.tsv", "--types", "my files/types.tsv"),
)


def test_a_project_is_made_planned_run_and_not_run_again(user: Path) -> None:
    made = sayso(*NEW)
    assert made.returncode == 0, made.stderr
    assert made.stderr.endswith("wrote my project/project.toml\nnext: sayso run 'my project'\n")
    (user / "my project" / "project.toml").unlink()
    make_project(Path("my project"), write_world(Path("my files")))
    plan = sayso("run", "my project", "--dry-run")
    assert plan.returncode == 0, plan.stderr
    assert plan.stdout.count("first time") == 6
    assert not (user / "my project" / "corpus").exists()
    done = sayso("run", "my project")
    assert done.returncode == 0, done.stderr
    assert "no encoder is given: a CNN is trained (config recommended_cnn)" in done.stderr
    assert [line.split(": ", 1)[1] for line in done.stderr.splitlines() if line.startswith("stage ")] == [
        f"{name} (first time)" for name in ("build", "check", "vectors", "prepare", "train", "extract")
    ]
    for shown in ("lines with a relation", "tokens per sentence, median", "store ", "CNNs+OR+C+F, validation"):
        assert shown in done.stdout
    assert done.stderr.splitlines()[-1] == "next: sayso serve 'my project'"
    again = sayso("run", "my project", "--json")
    record = json.loads(again.stdout)
    assert {each["status"] for each in record["stages"]} == {"unchanged"}
    assert "extract: nothing has changed, skipped" in again.stderr


def test_a_typo_in_the_project_file_is_one_line(user: Path) -> None:
    sayso(*NEW)
    path = user / "my project" / "project.toml"
    path.write_text(path.read_text().replace("folds = 5", "fold = 5"))
    number = next(n for n, line in enumerate(path.read_text().splitlines(), 1) if line.startswith("fold"))
    for words in (("run", "my project"), ("run", "my project", "--dry-run"), ("serve", "my project")):
        result = sayso(*words)
        assert result.returncode == 2
        expected = f"sayso: my project/project.toml:{number}: prepare.fold: no such setting; did you mean folds?"
        assert result.stderr.splitlines() == [expected]


def test_an_error_names_the_setting_as_the_project_file_does(user: Path) -> None:
    make_project(Path("p"), write_world(Path("files"), range(3)))
    change(Path("p"), ("folds = 2", "folds = 9"))
    result = sayso("run", "p")
    assert result.returncode == 2
    last = result.stderr.splitlines()[-1]
    assert "choose fewer folds" in last, result.stderr
    assert "--folds" not in last


def test_serve_opens_a_project(user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_project(Path("p"), write_world(Path("files")))
    refused = sayso("serve", "p", "--port", 0)
    assert (refused.returncode, refused.stderr) == (2, "sayso: p: no store yet: run the project with `sayso run p`\n")
    assert "name a project (`sayso serve DIR`), or a store with --data" in sayso("serve").stderr
    assert sayso("run", "p").returncode == 0
    opened = []
    monkeypatch.setattr(
        "sayso.serve.server.run", lambda app, socket: (opened.append(app.state.workbench.settings), socket.close())
    )
    result = CliRunner().invoke(app, ["serve", "p", "--port", "0"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert (opened[0].data, opened[0].facts) == (Path("p/store"), (Path("p/facts"),))
    assert opened[0].database == Path("p/annotations.db")
    assert opened[0].documents == Path("p/../files/articles.jsonl")


@pytest.mark.slow
def test_a_killed_run_continues(user: Path) -> None:
    make_project(Path("p"), write_world(Path("files")))
    program = [sys.executable, "-m", "sayso", "run", "p"]
    for folder in ("corpus", "run"):  # killed in the first stage, then while training
        process = subprocess.Popen(program, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=os.environ)
        while not (user / "p" / folder).exists():
            assert process.poll() is None
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.wait()
    done = sayso("run", "p")
    assert done.returncode == 0, done.stderr
    assert "was interrupted" in done.stderr
    assert "build: nothing has changed, skipped" in done.stderr
