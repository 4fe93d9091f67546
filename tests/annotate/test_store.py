import sqlite3
import stat
import threading
from pathlib import Path

import pytest

from sayso.annotate.agreement import submitted_marks
from sayso.annotate.people import annotator_named
from sayso.annotate.pilot import pilot_facts
from sayso.annotate.store import (
    APPLICATION_ID,
    MIGRATIONS,
    AnnotationDatabase,
    DiskFullError,
    copy_database,
    is_open_to_others,
    reading_from,
    writing_to,
)
from sayso.errors import BadInputError, UserError


def make_older(path: Path, version: int) -> None:
    """Write a database of an older version, with one annotator."""
    connection = sqlite3.connect(path)
    for migration in MIGRATIONS[:version]:
        connection.executescript(migration)
    connection.execute("INSERT INTO annotator (name, created) VALUES ('Ada', '2026-01-01')")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {version}")
    connection.commit()
    connection.close()


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS)))
def test_an_older_database_is_migrated_and_keeps_its_content(tmp_path: Path, version: int) -> None:
    make_older(tmp_path / "a.db", version)
    database = AnnotationDatabase(tmp_path / "a.db")
    with database.reading() as connection:
        assert connection.execute("PRAGMA user_version").fetchone()[0] == len(MIGRATIONS)
        assert [row[0] for row in connection.execute("SELECT name FROM annotator")] == ["Ada"]
        assert connection.execute("SELECT count(*) FROM session").fetchone()[0] == 0


_BEFORE_FIXED_CLAIMS = """
INSERT INTO fact VALUES (1, 'h', 'real', 't'), (2, 'h', 'practice', 't'), (3, 'h', 'over', 't');
INSERT INTO sentence VALUES (1, 'one');
INSERT INTO step (id, key, actor, scope, time) VALUES (1, 'a', 1, 'annotate', ''), (2, 'b', 1, 'pilot', ''),
  (3, 'c', 1, 'annotate', '');
INSERT INTO event (step, owner, fact, sentence, kind, value, before) VALUES (1, 1, 1, 1, 'mark', 'unsure', ''),
  (1, 1, 3, 1, 'mark', 'unsure', ''), (2, -1, 1, 1, 'mark', 'unsure', ''), (2, -1, 2, 1, 'mark', 'unsure', ''),
  (2, -1, 3, 1, 'mark', 'unsure', ''), (3, 1, 2, 1, 'mark', 'unsure', '');
INSERT INTO entry VALUES (1, 1, 1, 'mark', 'unsure', 1), (1, 1, 0, 'submitted', 'yes', 1),
  (1, 2, 1, 'mark', 'unsure', 3), (1, 2, 0, 'submitted', 'yes', 3), (1, 3, 1, 'mark', 'unsure', 1),
  (1, 3, 0, 'submitted', 'yes', 1);
INSERT INTO claim (annotator, fact, time) VALUES (1, 1, 0), (1, 2, 0), (1, 3, 0);
INSERT INTO pilot VALUES (1, 0), (2, 0), (3, 1);
INSERT INTO setting VALUES ('queue', '{"annotators_per_fact": 3, "relations": [], "order": "random", "num_pilot": 2}');
"""


def test_work_that_a_later_pilot_round_has_hidden_in_an_older_database_counts_again(tmp_path: Path) -> None:
    make_older(tmp_path / "a.db", 3)
    with sqlite3.connect(tmp_path / "a.db") as older:
        older.executescript(_BEFORE_FIXED_CLAIMS)
    older.close()
    with reading_from(tmp_path / "a.db") as connection:
        assert [mark.fact.relation for mark in submitted_marks(connection)] == ["real", "over"]
        assert [fact.relation for fact in pilot_facts(connection, with_past=True)] == ["real", "practice"]
        rows = connection.execute("SELECT is_pilot, quota FROM claim ORDER BY fact").fetchall()
        assert [tuple(row) for row in rows] == [(0, 3), (1, None), (0, 3)]


def test_a_newer_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    make_older(tmp_path / "a.db", len(MIGRATIONS))
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(BadInputError, match="newer version of sayso"):
        AnnotationDatabase(tmp_path / "a.db")
    assert sqlite3.connect(tmp_path / "a.db").execute("PRAGMA user_version").fetchone()[0] == 99


def test_a_migration_that_fails_leaves_the_older_database_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_older(tmp_path / "a.db", 1)
    monkeypatch.setattr(
        "sayso.annotate.store.MIGRATIONS", (MIGRATIONS[0], "CREATE TABLE one (a);\nCREATE TABEL two;\n")
    )
    with pytest.raises(sqlite3.OperationalError):
        AnnotationDatabase(tmp_path / "a.db")
    tables = {row[0] for row in sqlite3.connect(tmp_path / "a.db").execute("SELECT name FROM sqlite_master")}
    assert "annotator" in tables
    assert "one" not in tables


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("CREATE TABLE bookmarks (address)")
    with pytest.raises(BadInputError, match="another program"):
        AnnotationDatabase(tmp_path / "a.db")


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_text("dear diary, " * 200)
    with pytest.raises(BadInputError, match="not a valid annotation database"):
        AnnotationDatabase(tmp_path / "a.db")


def test_a_folder_a_missing_folder_and_a_missing_file_are_reported(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="is a folder; expected a file"):
        AnnotationDatabase(tmp_path)
    with pytest.raises(BadInputError, match="does not exist"):
        AnnotationDatabase(tmp_path / "nowhere" / "a.db")
    with pytest.raises(BadInputError, match="no such file"), reading_from(tmp_path / "a.db"):
        pass
    (tmp_path / "loop.db").symlink_to(tmp_path / "loop.db")
    with pytest.raises(BadInputError, match="cannot be opened for writing"):
        AnnotationDatabase(tmp_path / "loop.db")
    with pytest.raises(BadInputError, match=r"cannot be opened for writing .*name too long"):
        AnnotationDatabase(tmp_path / ("a" * 300))


def test_a_full_disk_is_reported_and_saving_works_again_with_space(tmp_path: Path) -> None:
    database = AnnotationDatabase(tmp_path / "a.db", max_pages=40)
    saved: list[str] = []

    def fill() -> None:
        for number in range(1000):
            with database.writing() as connection:
                annotator_named(connection, f"name {number}")
                connection.execute("INSERT INTO sentence (text) VALUES (?)", (f"{number} " + "x" * 2000,))
            saved.append(f"name {number}")

    with pytest.raises(DiskFullError, match="the disk is full; nothing was saved"):
        fill()
    with database.reading() as connection:
        assert [row[0] for row in connection.execute("SELECT name FROM annotator ORDER BY id")] == saved
    database.close()
    roomy = AnnotationDatabase(tmp_path / "a.db")
    with roomy.writing() as connection:
        annotator_named(connection, "one more")


def test_a_file_is_written_read_and_closed(tmp_path: Path) -> None:
    with writing_to(tmp_path / "a.db") as connection:
        annotator_named(connection, "Ada")
    with reading_from(tmp_path / "a.db") as connection:
        assert [row["name"] for row in connection.execute("SELECT name FROM annotator")] == ["Ada"]
    assert [path.name for path in tmp_path.iterdir()] == ["a.db"]
    with pytest.raises(BadInputError, match="no such file"), reading_from(tmp_path / "b.db"):
        pass


def test_a_block_that_fails_saves_nothing(tmp_path: Path) -> None:
    database = AnnotationDatabase(tmp_path / "a.db")

    def fail() -> None:
        with database.writing() as connection:
            annotator_named(connection, "Ada")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with database.reading() as connection:
        assert connection.execute("SELECT count(*) FROM annotator").fetchone()[0] == 0


def test_writers_in_threads_and_in_two_processes_lose_nothing(tmp_path: Path) -> None:
    # Two AnnotationDatabase objects have separate locks, like two processes; SQLite serialises their writes.
    databases = [AnnotationDatabase(tmp_path / "a.db"), AnnotationDatabase(tmp_path / "a.db")]

    def work(number: int) -> None:
        for turn in range(15):
            with databases[number % 2].writing() as connection:
                annotator_named(connection, f"{number} {turn}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with databases[0].reading() as connection:
        assert connection.execute("SELECT count(*) FROM annotator").fetchone()[0] == 6 * 15


def test_a_reader_sees_one_state_while_others_write(tmp_path: Path) -> None:
    database = AnnotationDatabase(tmp_path / "a.db")
    with database.reading() as reader:
        before = reader.execute("SELECT count(*) FROM annotator").fetchone()[0]
        with database.writing() as connection:
            annotator_named(connection, "Ada")
        assert reader.execute("SELECT count(*) FROM annotator").fetchone()[0] == before


def test_only_its_owner_can_read_the_file(tmp_path: Path) -> None:
    AnnotationDatabase(tmp_path / "a.db")
    assert stat.S_IMODE((tmp_path / "a.db").stat().st_mode) == 0o600


def test_a_file_that_others_may_read_is_noticed(tmp_path: Path) -> None:
    AnnotationDatabase(tmp_path / "a.db")
    assert not is_open_to_others(tmp_path / "a.db")
    for mode in (0o644, 0o640, 0o602):
        (tmp_path / "a.db").chmod(mode)
        assert is_open_to_others(tmp_path / "a.db")


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def read_names(path: Path) -> list[str]:
    with reading_from(path) as connection:
        return [row["name"] for row in connection.execute("SELECT name FROM annotator")]


def test_reading_makes_no_database_of_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "a.db").touch()
    with pytest.raises(BadInputError, match="the file is empty, not an annotation database"):
        read_names(tmp_path / "a.db")
    assert files_of(tmp_path) == {"a.db": b""}


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS) + 1))
def test_reading_changes_no_database_of_any_version(tmp_path: Path, version: int) -> None:
    make_older(tmp_path / "a.db", version)
    before = files_of(tmp_path)
    assert read_names(tmp_path / "a.db") == ["Ada"]
    assert files_of(tmp_path) == before


def test_reading_leaves_the_log_of_a_killed_server_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "live").mkdir()
    (tmp_path / "killed").mkdir()
    database = AnnotationDatabase(tmp_path / "live" / "a.db")
    with database.writing() as connection:
        annotator_named(connection, "Ada")
    for name in ("a.db", "a.db-wal"):  # what a killed process leaves
        (tmp_path / "killed" / name).write_bytes((tmp_path / "live" / name).read_bytes())
    before = files_of(tmp_path / "killed")
    assert read_names(tmp_path / "killed" / "a.db") == ["Ada"]
    assert before.items() <= files_of(tmp_path / "killed").items()


def test_another_programs_database_is_refused_unchanged(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("CREATE TABLE bookmarks (address)")
    connection.close()
    before = files_of(tmp_path)
    with pytest.raises(BadInputError, match="another program"):
        AnnotationDatabase(tmp_path / "a.db")
    with pytest.raises(BadInputError, match="another program"):
        read_names(tmp_path / "a.db")
    assert files_of(tmp_path) == before


def names_in(path: Path) -> list[str]:
    with reading_from(path) as connection:
        return [row[0] for row in connection.execute("SELECT name FROM annotator ORDER BY id")]


def test_a_copy_of_an_open_database_has_what_was_saved_and_nothing_of_a_transaction(tmp_path: Path) -> None:
    database = AnnotationDatabase(tmp_path / "a.db")
    with database.writing() as connection:
        annotator_named(connection, "Ada")
    with database.writing() as connection:
        annotator_named(connection, "Ben")
        copied = copy_database(tmp_path / "a.db", tmp_path / "copy.db")
    assert copied == (1, 0, (tmp_path / "copy.db").stat().st_size)
    assert names_in(tmp_path / "copy.db") == ["Ada"]
    assert names_in(tmp_path / "a.db") == ["Ada", "Ben"]
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600
    assert {path.name for path in tmp_path.iterdir()} == {"a.db", "a.db-wal", "a.db-shm", "copy.db"}
    database.close()


def test_a_copy_has_the_log_that_a_killed_process_left(tmp_path: Path) -> None:
    database = AnnotationDatabase(tmp_path / "a.db")
    with database.writing() as connection:
        annotator_named(connection, "Ada")
    (tmp_path / "killed").mkdir()
    for name in ("a.db", "a.db-wal"):
        (tmp_path / "killed" / name).write_bytes((tmp_path / name).read_bytes())
    database.close()
    copy_database(tmp_path / "killed" / "a.db", tmp_path / "copy.db")
    assert names_in(tmp_path / "copy.db") == ["Ada"]


def test_a_copy_of_an_older_database_is_of_its_version(tmp_path: Path) -> None:
    make_older(tmp_path / "a.db", 1)
    assert copy_database(tmp_path / "a.db", tmp_path / "copy.db").num_annotators == 1
    with sqlite3.connect(tmp_path / "copy.db") as connection:
        assert connection.execute("PRAGMA user_version").fetchone()[0] == 1
    connection.close()


@pytest.mark.parametrize("taken", ["copy.db", "copy.db-wal", "copy.db-journal"])
def test_a_copy_overwrites_nothing(tmp_path: Path, taken: str) -> None:
    AnnotationDatabase(tmp_path / "a.db").close()
    (tmp_path / taken).write_text("precious")
    with pytest.raises(UserError, match=f"{taken}: exists and is not overwritten"):
        copy_database(tmp_path / "a.db", tmp_path / "copy.db")
    assert (tmp_path / taken).read_text() == "precious"
    assert {path.name for path in tmp_path.iterdir()} == {"a.db", taken}


def test_a_damaged_database_is_not_copied(tmp_path: Path) -> None:
    with writing_to(tmp_path / "a.db") as connection:
        for number in range(500):
            annotator_named(connection, f"annotator {number}")
    content = bytearray((tmp_path / "a.db").read_bytes())
    for place in range(len(content) - 2 * 4096, len(content), 4096):  # the last pages hold annotators
        content[place : place + 64] = b"\xff" * 64
    (tmp_path / "a.db").write_bytes(content)
    with pytest.raises(BadInputError, match=r"a\.db: the database is damaged \(.*\); nothing was written"):
        copy_database(tmp_path / "a.db", tmp_path / "copy.db")
    assert {path.name for path in tmp_path.iterdir()} == {"a.db"}


def test_only_annotation_databases_are_copied(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("CREATE TABLE songs (title TEXT)")
    connection.close()
    (tmp_path / "text.db").write_text("not a database, but longer than its header " * 9)
    for name, message in (("other.db", "another program"), ("text.db", "not a valid"), ("none.db", "no such file")):
        with pytest.raises(BadInputError, match=message):
            copy_database(tmp_path / name, tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()
