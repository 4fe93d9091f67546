import json
from pathlib import Path

import pytest

from command import choices, sayso
from sayso.annotate.marks import FORMS
from sayso.cli.annotations import export
from toy_workbench import make_store

MARKS = [
    {"head": "h", "tail": "t", "relation": "capital", "sentence": sentence, "label": label, "by": by}
    for by, labels in (("Ada", ("rationale", "irrelevant")), ("Ben", ("rationale", "rationale")))
    for sentence, label in zip(("one", "two"), labels, strict=True)
]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("marks")
    (folder / "marks.jsonl").write_text("".join(json.dumps(mark) + "\n" for mark in MARKS))
    result = sayso("annotations", "import", folder / "marks.jsonl", "--db", folder / "marks.db")
    assert result.returncode == 0, result.stderr
    assert result.stdout == "4 marks by 2 annotators on 1 facts\n"
    assert "to see them: sayso serve --data STORE --db " in result.stderr
    return folder / "marks.db"


@pytest.mark.parametrize("form", ["jsonl", "csv", "eraser"])
def test_marks_of_every_annotator_survive_export_and_import(database: Path, tmp_path: Path, form: str) -> None:
    out, again = tmp_path / f"out{FORMS[form].suffix}", tmp_path / "again.jsonl"
    assert sayso("annotations", "export", out, "--db", database, "--format", form, "--each").returncode == 0
    assert sayso("annotations", "import", out, "--db", tmp_path / "other.db").returncode == 0
    assert sayso("annotations", "export", again, "--db", tmp_path / "other.db", "--each").returncode == 0
    lines = [json.loads(line) for line in again.read_text().splitlines()]
    assert sorted(lines, key=str) == sorted(MARKS, key=str)


def test_comments_are_exported_and_imported_next_to_marks(database: Path, tmp_path: Path) -> None:
    nothing = sayso("annotations", "export", tmp_path / "none", "--db", database, "--format", "comments")
    assert (nothing.returncode, "no submitted fact has a comment or is reported as wrong" in nothing.stderr) == (
        2,
        True,
    )
    said = {"head": "h", "tail": "t", "relation": "capital", "by": "Ada", "is_wrong": True, "comment": "odd"}
    comments, marks, again = (tmp_path / name for name in ("comments.jsonl", "marks.jsonl", "again.jsonl"))
    comments.write_text(json.dumps(said) + "\n")
    # Marks per sentence name no annotator, but comments always do.
    assert sayso("annotations", "export", marks, "--db", database).returncode == 0
    taken = sayso("annotations", "import", marks, comments, "--db", tmp_path / "other.db")
    assert taken.stdout == "2 marks by 1 annotators on 1 facts\n1 comments\n"
    exported = sayso("annotations", "export", again, "--db", tmp_path / "other.db", "--format", "comments", "--all")
    assert exported.returncode == 0, exported.stderr
    assert again.read_text() == comments.read_text()
    known = sayso("annotations", "import", comments, "--db", tmp_path / "other.db", "--known")
    assert (known.returncode, "without --known" in known.stderr) == (2, True)


def test_the_file_name_decides_the_format(database: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    assert sayso("annotations", "export", out, "--db", database, "--each").returncode == 0
    before = out.read_text()
    assert before.startswith("head,tail,relation,sentence,label,by\n")
    assert sayso("annotations", "import", out, "--db", tmp_path / "other.db").returncode == 0
    refused = sayso("annotations", "export", out, "--db", database, "--format", "jsonl")
    assert (refused.returncode, len(refused.stderr.strip().splitlines())) == (2, 1)
    assert "means the format csv, not jsonl" in refused.stderr
    assert out.read_text() == before


def test_json_reports_what_was_written(database: Path, tmp_path: Path) -> None:
    def told(*words: object) -> dict[str, object]:
        done = sayso("annotations", *words, "--json")
        assert done.returncode == 0, done.stderr
        answer: dict[str, object] = json.loads(done.stdout)
        return answer

    out, db, comments = (str(tmp_path / name) for name in ("out.jsonl", "other.db", "comments.jsonl"))
    written = {"written": out, "format": "tuples", "num_marks": 0, "num_left_out": 2}
    assert told("export", out, "--db", database, "--format", "tuples") == written
    assert told("export", out, "--db", database) == written | {"format": "jsonl", "num_marks": 2, "num_left_out": 0}
    said = {"head": "h", "tail": "t", "relation": "capital", "by": "Ada", "is_wrong": True, "comment": "odd"}
    Path(comments).write_text(json.dumps(said) + "\n")
    counts = {"num_marks": 2, "num_annotators": 1, "num_facts": 1, "num_comments": 1}
    assert told("import", out, comments, "--db", db) == {"written": db, **counts}
    again = {"written": comments, "format": "comments", "num_comments": 1}
    assert told("export", comments, "--db", db, "--format", "comments", "--all") == again


def test_each_is_refused_for_comments(database: Path, tmp_path: Path) -> None:
    refused = sayso("annotations", "export", tmp_path / "out", "--db", database, "--format", "comments", "--each")
    assert (refused.returncode, "--each applies only to marks" in refused.stderr) == (2, True)


def test_the_command_offers_every_format() -> None:
    assert choices(export, "form") == [*FORMS, "comments"]


def test_an_export_has_one_mark_per_sentence_by_default(database: Path, tmp_path: Path) -> None:
    result = sayso("annotations", "export", tmp_path / "out.jsonl", "--db", database)
    assert result.stdout == "2 marks\n"
    assert f"sayso evaluate RUN --data STORE --marks {tmp_path / 'out.jsonl'}" in result.stderr
    labels = [json.loads(line)["label"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert labels == ["rationale", "unsure"]


@pytest.mark.parametrize("form", ["jsonl", "comments"])
def test_incomplete_facts_are_left_out_and_counted(tmp_path: Path, form: str) -> None:
    half = [{**MARKS[0], "head": "half"}]
    said = [{"head": head, "tail": "t", "relation": "capital", "by": "Ada", "comment": "odd"} for head in ("h", "half")]
    comments = [{**each, "is_wrong": False} for each in said]
    for name, lines in (("marks", [*MARKS, *half]), ("comments", comments)):
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    out, db, marks = tmp_path / "out.jsonl", tmp_path / "marks.db", tmp_path / "marks"
    assert sayso("annotations", "import", marks, tmp_path / "comments", "--db", db).returncode == 0

    def exported(*options: str) -> tuple[str, list[str]]:
        done = sayso("annotations", "export", out, "--db", db, "--format", form, *options)
        assert done.returncode == 0, done.stderr
        return done.stderr, sorted({json.loads(line)["head"] for line in out.read_text().splitlines()})

    told, heads = exported()
    assert ("1 facts that are still waiting for annotators; --all includes them" in told, heads) == (True, ["h"])
    assert exported("--all")[1] == ["h", "half"]


def test_without_complete_facts_the_error_names_the_option_all(tmp_path: Path) -> None:
    (tmp_path / "half.jsonl").write_text(json.dumps(MARKS[0]) + "\n")
    assert sayso("annotations", "import", tmp_path / "half.jsonl", "--db", tmp_path / "a.db").returncode == 0
    result = sayso("annotations", "export", tmp_path / "out", "--db", tmp_path / "a.db")
    assert (result.returncode, "export them with --all" in result.stderr) == (2, True)
    assert not (tmp_path / "out").exists()


def test_marks_that_a_format_cannot_represent_are_counted(database: Path, tmp_path: Path) -> None:
    result = sayso("annotations", "export", tmp_path / "out.jsonl", "--db", database, "--format", "tuples")
    assert "2 marks cannot be written in the format tuples" in result.stderr


def test_agreement_is_a_table_or_json(database: Path) -> None:
    shown = sayso("annotations", "agreement", "--db", database)
    assert shown.stdout.splitlines()[-1].split() == ["all", "relations", "1", "2", "0.50", "0.00", "0.00"]
    figures = json.loads(sayso("annotations", "agreement", "--db", database, "--json").stdout)
    assert figures["overall"]["percent"] == 0.5


def test_agreement_does_not_turn_an_empty_file_into_a_database(tmp_path: Path) -> None:
    (tmp_path / "a.db").touch()
    result = sayso("annotations", "agreement", "--db", tmp_path / "a.db")
    assert (result.returncode, len(result.stderr.strip().splitlines())) == (2, 1)
    assert "the file is empty, not an annotation database" in result.stderr
    assert [(path.name, path.stat().st_size) for path in tmp_path.iterdir()] == [("a.db", 0)]


def test_nothing_to_export_and_a_missing_file_are_one_line(tmp_path: Path) -> None:
    result = sayso("annotations", "export", tmp_path / "out", "--db", tmp_path / "none.db")
    assert (result.returncode, "no such file" in result.stderr) == (2, True)
    (tmp_path / "known.jsonl").write_text(json.dumps(MARKS[0]) + "\n")
    assert (
        sayso("annotations", "import", tmp_path / "known.jsonl", "--db", tmp_path / "a.db", "--known").returncode == 0
    )
    result = sayso("annotations", "export", tmp_path / "out", "--db", tmp_path / "a.db")
    assert (result.returncode, "no facts have been submitted" in result.stderr) == (2, True)


def test_names_are_written_beside_ids_if_the_store_is_known(tmp_path: Path) -> None:
    store, db, marks = make_store(tmp_path), tmp_path / "other.db", tmp_path / "marks.jsonl"
    given = {"head": "l0", "tail": "t0", "relation": "capital", "sentence": "one", "label": "rationale"}
    marks.write_text(json.dumps(given) + "\n")
    assert sayso("annotations", "import", marks, "--db", db).returncode == 0

    def exported(*options: object) -> dict[str, str]:
        done = sayso("annotations", "export", tmp_path / "out.jsonl", "--all", *options)
        assert done.returncode == 0, done.stderr
        line: dict[str, str] = json.loads((tmp_path / "out.jsonl").read_text())
        return line

    assert exported("--db", db) == given
    named = given | {"head_name": "north_land0", "tail_name": "port_town0"}
    assert exported("--db", db, "--data", store.folder) == named
    beside = tmp_path / "store.annotations.db"
    db.rename(beside)
    assert exported("--db", beside) == named
