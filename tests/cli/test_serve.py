import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from command import sayso
from sayso.cli import app
from sayso.cli.serve import _refuse_odd_links
from sayso.errors import BadInputError
from sayso.serve.server import ServeSettings
from sayso.serve.workbench import Workbench
from toy_run import make_run, toy_config
from toy_run import make_store as make_trained_store
from toy_workbench import make_store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store(tmp_path_factory.mktemp("store")).folder


def test_a_public_host_requires_annotators(store: Path, tmp_path: Path) -> None:
    result = sayso("serve", "--data", store, "--db", tmp_path / "a.db", "--host", "0.0.0.0", "--port", 0)
    assert result.returncode == 2
    assert "allow annotators with --annotator NAME" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--data", "nowhere"], "nowhere: no such folder: make one with `sayso prepare`"),
        (["--part", "dev"], "the store has no part 'dev'"),
        (["--run", "nowhere"], "nowhere: no such folder: make one with `sayso train`"),
        (["--db", "/"], "/: is a folder; expected a file"),
        (["--annotator", "Ada"], "--annotator is for annotators on other machines"),
        (["--lead", " "], "a name must have 1 to 60"),
        (["--new-link", "Ada"], "--new-link is for annotators on other machines"),
        (["--reader", "Ada", "--lead", "ada"], "ada has several roles"),
        (["--new-links"], "--new-links is for annotators on other machines"),
        (["--documents", "nowhere"], "nowhere: no such file"),
        (["--reasons", "nowhere.txt"], "nowhere.txt: no such file"),
        (["--facts", "nowhere.jsonl"], "nowhere.jsonl: no such file"),
        (["--facts", "/"], "/: there is no facts.jsonl here"),
        (["--facts", __file__], "test_serve.py:1: not a fact written by `sayso extract --format jsonl`"),
    ],
)
def test_what_cannot_be_opened_is_one_line(store: Path, tmp_path: Path, options: list[str], message: str) -> None:
    result = sayso("serve", "--data", store, "--db", tmp_path / "a.db", "--port", 0, *options)
    assert result.returncode == 2
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_run_without_predictions_is_answered_with_the_command_that_makes_them(store: Path, tmp_path: Path) -> None:
    settings = ServeSettings(data=store, database=tmp_path / "a.db", runs=(tmp_path / "my run",), host="", port=0)
    (tmp_path / "my run").mkdir()
    for part, option in (("test", ""), ("train", " --part train")):
        with pytest.raises(BadInputError) as refused:
            Workbench(replace(settings, part=part))
        command = f"sayso evaluate '{tmp_path / 'my run'}' --data {store}{option}"
        assert str(refused.value) == f"{tmp_path / 'my run'}: no predictions yet; create them with: {command}"


def test_the_predictions_of_a_run_are_computed_before_they_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = make_trained_store(tmp_path)
    run = make_run(toy_config("type"), data, tmp_path / "my run")
    opened: list[str] = []
    monkeypatch.setattr(
        "sayso.serve.server.run", lambda app, socket: (opened.append(app.state.workbench), socket.close())
    )
    words = ["serve", "--data", data, "--run", run, "--db", tmp_path / "a.db", "--port", 0]

    def part_shown(*more: object) -> tuple[str, str]:
        result = CliRunner().invoke(app, [*map(str, words), *map(str, more)], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return opened[-1].settings.part, result.stderr

    part, told = part_shown()
    assert part == "validation", "the store has no test part"
    assert f"{run}: no predictions yet; computing those for the validation part" in told
    assert len(opened[-1].predictions) == 1
    assert "no predictions" not in part_shown()[1], "they are kept"
    shutil.rmtree(run / "predictions")
    assert part_shown("--part", "train")[0] == "train"
    assert part_shown()[0] == "train", "the part of the predictions that are there"


def test_leads_get_links_on_other_machines_and_are_named_locally(tmp_path: Path) -> None:
    for host in ("0.0.0.0", "127.0.0.1"):
        led = ServeSettings(data=tmp_path, database=tmp_path / "a.db", host=host, leads=("Ada",))
        _refuse_odd_links(led, [], new_links=False)


def test_a_database_that_others_can_read_is_reported(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sayso.serve.server.run", lambda _, opened: opened.close())
    words = ["serve", "--data", str(store), "--db", str(tmp_path / "a.db"), "--port", "0"]
    assert "warning: " not in CliRunner().invoke(app, words).stderr
    (tmp_path / "a.db").chmod(0o644)
    (line,) = (each for each in CliRunner().invoke(app, words).stderr.splitlines() if each.startswith("warning: "))
    assert "other users of this machine can read" in line
    assert f"chmod 600 {tmp_path / 'a.db'}" in line
