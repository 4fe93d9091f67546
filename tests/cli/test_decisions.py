import json
from pathlib import Path

import pytest

from command import sayso
from provenance.decided import make_decided
from sayso.annotate.curation import decide
from sayso.annotate.people import annotator_named
from sayso.annotate.store import Database


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "marks.db"
    opened = Database(path)
    with opened.writing() as connection:
        ada = annotator_named(connection, "Ada")
        decide(connection, ada, make_decided(), "key 1")
        decide(connection, ada, make_decided(tail_id="Q1", decision="rejected"), "key 2")
    opened.close()
    return path


@pytest.mark.parametrize(("form", "num"), [("jsonld", 1), ("csv", 1), ("judgements", 2)])
def test_each_form_is_written_and_counted(database: Path, tmp_path: Path, form: str, num: int) -> None:
    out = tmp_path / "out"
    done = sayso("decisions", "export", out, "--db", database, "--form", form)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{num} facts\n"
    assert f"wrote {out}" in done.stderr
    assert "Q1030" in out.read_text()


def test_the_default_is_json_ld_of_the_accepted(database: Path, tmp_path: Path) -> None:
    sayso("decisions", "export", tmp_path / "out", "--db", database)
    assert json.loads((tmp_path / "out").read_text())["total"] == 1


def test_nothing_decided_and_no_file_are_said(tmp_path: Path) -> None:
    missing = sayso("decisions", "export", tmp_path / "out", "--db", tmp_path / "absent.db")
    assert (missing.returncode, "there is no such file" in missing.stderr) == (2, True)
    Database(tmp_path / "empty.db").close()
    empty = sayso("decisions", "export", tmp_path / "out", "--db", tmp_path / "empty.db")
    assert (empty.returncode, "no fact is accepted yet" in empty.stderr) == (2, True)
    assert not (tmp_path / "out").exists()
