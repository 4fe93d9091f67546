import sqlite3
from pathlib import Path

import pytest

from sayso.annotate import guideline
from sayso.annotate.guideline import DEFAULT_GUIDELINE
from sayso.annotate.marking import StaleError
from sayso.annotate.people import annotator_named
from sayso.annotate.store import MIGRATIONS, Connection, reading_from
from sayso.errors import UserError
from sayso.records import Relation

RELATIONS = [Relation("capital", "The tail is the seat of government of the head.", "Oslo.", True), Relation("born")]


def test_every_version_is_kept_with_who_and_when(connection: Connection) -> None:
    ada, ben = (annotator_named(connection, name) for name in ("Ada", "Ben"))
    guideline.write_guideline(connection, ada, "read it\r\n\r\ntwice ")
    guideline.write_guideline(connection, ben, "read it once", based_on=1)
    versions = guideline.guideline_versions(connection)
    assert [(each.number, each.author, each.text) for each in versions] == [
        (0, "", DEFAULT_GUIDELINE),
        (1, "Ada", "read it\n\ntwice"),
        (2, "Ben", "read it once"),
    ]
    assert versions[0].time == ""
    assert all(each.time.startswith("20") for each in versions[1:])


def test_an_empty_text_is_the_default_and_an_unchanged_one_no_version(connection: Connection) -> None:
    ada = annotator_named(connection, "Ada")
    guideline.write_guideline(connection, ada, " ")
    guideline.write_guideline(connection, ada, "new")
    guideline.write_guideline(connection, ada, "new")
    assert guideline.read_guideline(connection).number == 1
    guideline.write_guideline(connection, ada, "")
    assert guideline.read_guideline(connection).text == DEFAULT_GUIDELINE
    assert guideline.read_guideline(connection).number == 2


def test_a_text_based_on_an_earlier_version_is_refused(connection: Connection) -> None:
    ada, ben = (annotator_named(connection, name) for name in ("Ada", "Ben"))
    guideline.write_guideline(connection, ada, "one", based_on=0)
    with pytest.raises(StaleError, match="Ada has changed the guideline"):
        guideline.write_guideline(connection, ben, "two", based_on=0)
    guideline.write_guideline(connection, ben, "one", based_on=0)  # the same change
    assert guideline.read_guideline(connection).text == "one"


def test_the_guideline_of_an_older_database_is_its_first_version(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with sqlite3.connect(path) as connection:
        for migration in MIGRATIONS[:5]:
            connection.executescript(migration)
        connection.execute("INSERT INTO setting VALUES ('guideline', 'the old one')")
        connection.execute("PRAGMA application_id = 0x53415953")
        connection.execute("PRAGMA user_version = 5")
    connection.close()
    with reading_from(path) as migrated:
        version = guideline.read_guideline(migrated)
    assert (version.number, version.text, version.author, version.time) == (1, "the old one", "", "")


def test_a_definition_replaces_the_stores_until_it_is_emptied(connection: Connection) -> None:
    ada = annotator_named(connection, "Ada")
    assert guideline.with_definitions(RELATIONS, connection) == RELATIONS
    guideline.write_definition(connection, ada, "capital", "The tail rules\n the head.", "")
    capital, born = guideline.with_definitions(RELATIONS, connection)
    assert capital == Relation("capital", "The tail rules the head.", "", True)
    assert born == RELATIONS[1]
    before = guideline.latest_definition(connection)
    guideline.write_definition(connection, ada, "capital", "The tail rules the head.", "")
    assert guideline.latest_definition(connection) == before
    guideline.write_definition(connection, ada, "capital", "", "")
    assert guideline.with_definitions(RELATIONS, connection) == RELATIONS
    versions = guideline.definition_versions(connection)["capital"]
    assert [each.definition for each in versions] == ["", "The tail rules the head."]
    assert {each.author for each in versions} == {"Ada"}


@pytest.mark.parametrize("text", ["x" * 1_001, "a\x1bb"])
def test_a_definition_that_pages_cannot_show_is_refused(connection: Connection, text: str) -> None:
    ada = annotator_named(connection, "Ada")
    for words in ((text, ""), ("", text)):
        with pytest.raises(UserError, match="a definition or example"):
            guideline.write_definition(connection, ada, "capital", *words)
    assert guideline.definition_versions(connection) == {}
