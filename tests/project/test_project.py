import tomllib
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from project.toy_project import change, write_world
from sayso.config import to_table
from sayso.documents.settings import BuildInputs
from sayso.errors import BadConfigError, UserError
from sayso.extract.forms import FORMS
from sayso.extract.missing import KB_COMPLETENESS
from sayso.project import PROJECT, FactSettings, FormatName, ProjectSettings, line_of, new_project, open_project


@pytest.fixture
def inputs(tmp_path: Path) -> BuildInputs:
    return write_world(tmp_path / "my files")


def test_the_file_has_the_defaults_and_says_where_the_inputs_are(tmp_path: Path, inputs: BuildInputs) -> None:
    path = new_project(tmp_path / "my project", inputs)
    written = tomllib.loads(path.read_text())
    defaults = to_table(ProjectSettings(documents="", kb=""), {})
    for name, value in written.items():
        if isinstance(value, dict):
            assert value == {key: defaults[name][key] for key in value}, "the template shows the defaults"
    assert written["documents"] == "../my files/articles.jsonl"
    assert "relations" not in written, "only as a comment"
    assert '# relations = ""' in path.read_text()
    assert "`sayso run 'my project'`" in path.read_text()
    project = open_project(tmp_path / "my project")
    assert project.build_inputs.documents.samefile(inputs.documents)
    assert {name: path.resolve() for name, path in project.build_inputs.tables().items()} == {
        name: path.resolve() for name, path in inputs.tables().items()
    }
    assert project.decisions == [], "no decision has been made yet"
    assert open_project(path).settings == project.settings


def test_links_that_reviewers_found_wrong_are_an_input(tmp_path: Path, inputs: BuildInputs) -> None:
    exceptions = tmp_path / "my files" / "exceptions.tsv"
    exceptions.write_text("")
    new_project(tmp_path / "mine", replace(inputs, exceptions=exceptions))
    found = open_project(tmp_path / "mine").build_inputs.exceptions
    assert found
    assert found.samefile(exceptions)


def test_defaults_and_names_are_those_of_extract() -> None:
    assert FactSettings().kb_completeness == KB_COMPLETENESS
    assert list(get_args(FormatName)) == list(FORMS)


def test_files_far_away_are_named_by_their_whole_path(tmp_path: Path, inputs: BuildInputs) -> None:
    path = new_project(tmp_path / "a" / "b" / "c", inputs)
    assert tomllib.loads(path.read_text())["kb"] == str(inputs.kb.resolve())


def test_a_path_with_any_character_is_read_back(tmp_path: Path) -> None:
    inputs = write_world(tmp_path / 'a "b" \\ \n é')
    new_project(tmp_path / "x\ny = 1", inputs)
    assert open_project(tmp_path / "x\ny = 1").build_inputs.kb.samefile(inputs.kb)


@pytest.mark.parametrize(
    ("change_of", "message"),
    [
        (("na_share = ", "na_shar = "), "build.na_shar: no such setting; did you mean na_share?"),
        (("[extract]", "[extrct]"), "extrct: no such setting; did you mean extract?"),
        (("folds = 5", "folds = 1"), "folds is 1: choose at least 2"),
        (("folds = 5", "folds = '5'"), "prepare.folds: expected an integer, got '5'"),
        (("precision = 0.8", "precision = 8"), "extract.precision is 8.0; it must be from 0.01 to 1"),
        (('["jsonl"]', '["xml"]'), "extract.formats: 'xml' is not one of jsonl, "),
        (("kb = ", "bk = "), "bk: no such setting; did you mean kb?"),
        (('config = ""', 'config = "'), "not TOML: "),
        (('case = "capitals"', 'case = "capital"'), "build.case: 'capital' is not one of capitals, exact, ignore; did"),
    ],
)
def test_a_mistake_is_named_with_its_line(
    tmp_path: Path, inputs: BuildInputs, change_of: tuple[str, str], message: str
) -> None:
    path = new_project(tmp_path / "p", inputs)
    changed = next(
        number
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if line.startswith(change_of[0]) or (change_of[0] in line and not line.startswith("#"))
    )
    with pytest.raises(UserError) as raised:
        change(tmp_path / "p", change_of)
    assert str(raised.value).startswith(f"{path}:{changed}: {message}")
    assert "\n" not in str(raised.value)


def test_an_input_that_must_be_named_is_missing(tmp_path: Path, inputs: BuildInputs) -> None:
    new_project(tmp_path / "p", inputs)
    with pytest.raises(BadConfigError, match=r"project.toml: kb is missing: name the file with the facts you have"):
        change(tmp_path / "p", ("kb = ", "# kb = "))


def test_the_line_of_a_key_is_found_in_its_section() -> None:
    text = '# kb = 0\nkb = "a"\n[build]\n kb=2\n[ train ]\nkb = 3\n'
    assert [line_of(text, key) for key in ("kb", "build.kb", "train.kb", "build", "no")] == [2, 4, 6, 3, 0]


def test_a_missing_input_is_named_and_nothing_is_replaced(tmp_path: Path, inputs: BuildInputs) -> None:
    with pytest.raises(UserError, match="no such file or directory"):
        new_project(tmp_path / "p", BuildInputs(documents=tmp_path / "absent", kb=inputs.kb))
    assert not (tmp_path / "p").exists()
    new_project(tmp_path / "p", inputs)
    with pytest.raises(UserError, match="this is already a project"):
        new_project(tmp_path / "p", inputs)
    with pytest.raises(UserError, match="a file with this name exists"):
        new_project(inputs.kb, inputs)
    inputs.kb.rename(tmp_path / "kb")
    with pytest.raises(UserError, match=r"kb.tsv: no such file or directory"):
        open_project(tmp_path / "p")
    with pytest.raises(UserError, match=r"no project.toml here: make a project with `sayso new`"):
        open_project(tmp_path)


def test_decisions_of_missing_files_are_refused_but_a_database_may_come_later(
    tmp_path: Path, inputs: BuildInputs
) -> None:
    new_project(tmp_path / "p", inputs)
    with pytest.raises(UserError, match=r"decided.jsonl: no such file"):
        change(tmp_path / "p", ('decisions = ["annotations.db"]', 'decisions = ["annotations.db", "decided.jsonl"]'))
    (tmp_path / "p" / "decided.jsonl").touch()
    assert [path.name for path in open_project(tmp_path / "p").decisions] == ["decided.jsonl"]


def test_a_config_error_is_one(tmp_path: Path, inputs: BuildInputs) -> None:
    path = new_project(tmp_path / "p", inputs)
    path.write_text("documents = 3\nkb = 'x'\n")
    with pytest.raises(BadConfigError, match=rf"{path}:1: documents: expected a string, got 3"):
        open_project(tmp_path / "p")
    assert PROJECT in str(path)
