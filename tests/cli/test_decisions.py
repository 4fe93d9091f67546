import json
import sqlite3
from pathlib import Path

import pytest

from command import choices, sayso
from sayso.annotate.decisions import decide, decide_quote
from sayso.annotate.people import annotator_named
from sayso.annotate.store import AnnotationDatabase
from sayso.cli.decisions import export
from sayso.facts.export import FORMS, QUOTE_FORMS
from toy_facts import make_decided, make_decided_quote, make_extracted


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "marks.db"
    opened = AnnotationDatabase(path)
    with opened.writing() as connection:
        ada = annotator_named(connection, "Ada")
        decide(connection, ada, make_decided(), "key 1")
        decide(connection, ada, make_decided(tail_id="Q1", decision="rejected"), "key 2")
    opened.close()
    return path


@pytest.mark.parametrize(("form", "num"), [("jsonld", 1), ("csv", 1), ("triples", 1), ("decisions", 2)])
def test_each_format_is_written_and_counted(database: Path, tmp_path: Path, form: str, num: int) -> None:
    out = tmp_path / "out"
    done = sayso("decisions", "export", out, "--db", database, "--format", form)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{num} facts\n"
    assert f"wrote {out}" in done.stderr
    assert "Q1030" in out.read_text()


@pytest.mark.parametrize(
    ("name", "begin"), [("a.csv", "head_id,"), ("a.tsv", "Q1030\t"), ("a.jsonl", '{"head"'), ("a.jsonld", "{\n")]
)
def test_the_file_name_decides_the_format(database: Path, tmp_path: Path, name: str, begin: str) -> None:
    assert sayso("decisions", "export", tmp_path / name, "--db", database).returncode == 0
    assert (tmp_path / name).read_text().startswith(begin)


def test_facts_that_a_format_cannot_represent_are_counted(database: Path, tmp_path: Path) -> None:
    opened = AnnotationDatabase(database)
    with opened.writing() as connection:
        decide(connection, annotator_named(connection, "Ada"), make_decided(relation="P36"), "key 3")
    opened.close()
    done = sayso("decisions", "export", tmp_path / "out", "--db", database, "--format", "quickstatements")
    assert done.stdout == "1 facts\n"
    assert "facts without Wikidata ids are left out: 1 of 2" in done.stderr
    assert (tmp_path / "out").read_text().startswith("Q1030\tP36\tQ3935\t")


def test_a_table_maps_ids_to_wikidatas(database: Path, tmp_path: Path) -> None:
    table, out = tmp_path / "ids.tsv", tmp_path / "out.quickstatements.tsv"
    table.write_text(f"{make_decided().relation}\tP36\n")
    done = sayso("decisions", "export", out, "--db", database, "--wikidata", table)
    assert (done.returncode, done.stdout) == (0, "1 facts\n")
    assert out.read_text().startswith("Q1030\tP36\tQ3935\t")
    other = sayso("decisions", "export", tmp_path / "out.csv", "--db", database, "--wikidata", table)
    assert (other.returncode, "--wikidata requires --format quickstatements" in other.stderr) == (2, True)


def test_no_file_is_written_if_no_fact_can_be(database: Path, tmp_path: Path) -> None:
    done = sayso("decisions", "export", tmp_path / "out", "--db", database, "--format", "quickstatements")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no accepted fact can be written in the format quickstatements" in done.stderr
    assert not (tmp_path / "out").exists()


def test_the_command_offers_every_format() -> None:
    assert choices(export, "form") == [*FORMS, *QUOTE_FORMS]


def test_decisions_on_quotes_have_two_formats_of_their_own(database: Path, tmp_path: Path) -> None:
    quotes, exceptions = tmp_path / "quotes.csv", tmp_path / "exceptions.tsv"
    none = sayso("decisions", "export", quotes, "--db", database, "--format", "quotes")
    assert (none.returncode, "no decisions on sentences yet" in none.stderr) == (2, True)
    opened = AnnotationDatabase(database)
    with opened.writing() as connection:
        decide_quote(connection, annotator_named(connection, "Ada"), make_decided_quote(), "key 3")
    done = sayso("decisions", "export", quotes, "--db", database, "--format", "quotes", "--json")
    assert json.loads(done.stdout) == {"written": str(quotes), "format": "quotes", "num_quotes": 1}
    assert quotes.read_text().splitlines()[1].endswith(",rejected,negated")
    none = sayso("decisions", "export", exceptions, "--db", database, "--format", "exceptions")
    assert (none.returncode, "no sentence of a document is rejected for a wrong entity yet" in none.stderr) == (2, True)
    assert not exceptions.exists()
    with opened.writing() as connection:
        wrong = make_decided_quote(reason="wrong entity (head)")
        decide_quote(connection, annotator_named(connection, "Ada"), wrong, "key 4")
    opened.close()
    done = sayso("decisions", "export", exceptions, "--db", database, "--format", "exceptions")
    assert (done.stdout, exceptions.read_text()) == ("1 exceptions\n", "nyt/7\t120\t155\tQ1030\n")
    assert f"--exceptions {exceptions} to sayso build" in done.stderr


def test_the_default_is_json_ld_of_the_accepted(database: Path, tmp_path: Path) -> None:
    sayso("decisions", "export", tmp_path / "out", "--db", database)
    assert json.loads((tmp_path / "out").read_text())["total"] == 1


def test_missing_decisions_and_a_missing_database_are_reported(tmp_path: Path) -> None:
    missing = sayso("decisions", "export", tmp_path / "out", "--db", tmp_path / "absent.db")
    assert (missing.returncode, "no such file" in missing.stderr) == (2, True)
    AnnotationDatabase(tmp_path / "empty.db").close()
    empty = sayso("decisions", "export", tmp_path / "out", "--db", tmp_path / "empty.db")
    assert (empty.returncode, "no fact is accepted yet" in empty.stderr) == (2, True)
    assert not (tmp_path / "out").exists()


def test_imported_decisions_keep_the_evidence_and_provenance_of_their_facts(tmp_path: Path) -> None:
    facts, decisions, db = tmp_path / "facts.jsonl", tmp_path / "decisions.jsonl", tmp_path / "marks.db"
    facts.write_text(f"{make_extracted().to_json()}\n{make_extracted(tail_id='Q1').to_json()}\n")
    lines = [
        {"head": "Q1030", "relation": "P36", "tail": "Q3935", "decision": "accepted", "by": "Ada"},
        {"head": "Q1030", "relation": "P36", "tail": "Q1", "decision": "rejected"},
        {"head": "Q1030", "relation": "P36", "tail": "Q2", "decision": "rejected"},
    ]
    decisions.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = sayso("decisions", "import", decisions, "--facts", facts, "--db", db, "--by", "Bo")
    assert (done.returncode, done.stdout) == (0, "2 decisions\n")
    assert "1 decisions left out: their facts are not in" in done.stderr
    sayso("decisions", "export", tmp_path / "out", "--db", db)
    (item,) = json.loads((tmp_path / "out").read_text())["first"]["items"]
    assert item["creator"]["name"] == "Ada"
    assert item["target"][0]["selector"]["refinedBy"]["exact"] == "Windhoek is Namibia"
    sayso("decisions", "export", tmp_path / "lines", "--db", db, "--format", "decisions")
    assert {json.loads(line)["by"] for line in (tmp_path / "lines").read_text().splitlines()} == {"Ada", "Bo"}
    sayso("decisions", "export", tmp_path / "quick", "--db", db, "--format", "quickstatements")
    assert (tmp_path / "quick").read_text().startswith("Q1030\tP36\tQ3935\tS854")
    done = sayso("decisions", "export", tmp_path / "out.csv", "--db", db, "--json")
    written = {
        "written": str(tmp_path / "out.csv"),
        "format": "csv",
        "num_facts": 1,
        "num_left_out": 0,
        "num_damaged": 0,
    }
    assert json.loads(done.stdout) == written
    done = sayso("decisions", "import", decisions, "--facts", facts, "--db", db, "--json")
    assert json.loads(done.stdout) == {"written": str(db), "num_decisions": 2, "num_left_out": 1}
    (tmp_path / "manifest.json").write_text('{"made_by": "sayso extract"}')
    done = sayso("decisions", "import", decisions, "--facts", tmp_path, "--db", db)
    assert (done.returncode, done.stdout) == (0, "2 decisions\n"), done.stderr
    wrong = sayso("decisions", "import", decisions, "--facts", decisions, "--db", db)
    assert (wrong.returncode, "decisions.jsonl:1: not a fact written by" in wrong.stderr) == (2, True)


def test_damaged_decisions_are_counted_and_named_and_the_others_written(database: Path, tmp_path: Path) -> None:
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE entry SET value = replace(value, '0.97', 'NaN') WHERE value LIKE '%rejected%'")
    done = sayso("decisions", "export", tmp_path / "out", "--db", database, "--format", "decisions", "--json")
    assert done.returncode == 0, done.stderr
    assert "1 damaged decisions are left out" in done.stderr
    assert "Q1030 /location/country/capital Q1: 'probability' is nan" in done.stderr
    counts = json.loads(done.stdout)
    assert (counts["num_facts"], counts["num_damaged"]) == (1, 1)


@pytest.mark.parametrize("value", ["NaN", '"0.9"', "null"])
def test_facts_with_values_of_the_wrong_kind_are_refused_with_their_line(tmp_path: Path, value: str) -> None:
    facts, decisions = tmp_path / "facts.jsonl", tmp_path / "decisions.jsonl"
    facts.write_text(f"{make_extracted(tail_id='Q1').to_json()}\n{make_extracted().to_json().replace('0.97', value)}\n")
    decisions.write_text('{"head": "Q1030", "relation": "P36", "tail": "Q3935", "decision": "accepted"}\n')
    done = sayso("decisions", "import", decisions, "--facts", facts, "--db", tmp_path / "marks.db")
    assert done.returncode == 2
    assert "facts.jsonl:2: not a fact written by `sayso extract --format jsonl` ('probability' is" in done.stderr
