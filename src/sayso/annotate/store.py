"""Access to SQLite: open, migrate, read and write an annotation database.

A lock allows one writer at a time in this process, and writers wait for other processes. Every write is one short
transaction that is on disk when it returns (`synchronous=FULL`). This costs about a millisecond per mark; in return,
neither a killed process nor a power cut loses a mark that was shown as saved.
"""

import contextlib
import os
import queue
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from sayso.errors import BadInputError, UserError, reason_of
from sayso.io.atomic import atomic_file

Connection = sqlite3.Connection
Row = sqlite3.Row

APPLICATION_ID = 0x53415953
"""Marks an SQLite file as an annotation database: `SAYS`."""
MIGRATIONS = tuple(path.read_text("utf-8") for path in sorted((Path(__file__).parent / "migrations").glob("*.sql")))
"""The tables; a database's version is the number of migrations applied to it. Append new ones, never edit old ones."""

_BUSY_SECONDS = 30.0
_UNREADABLE = frozenset({sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT})
_UNWRITABLE = frozenset({sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH})


class DiskFullError(UserError):
    """The disk is full; nothing was saved."""


class BusyError(UserError):
    """Another program has kept the database locked for too long; nothing was saved."""


class AnnotationDatabase:
    """An open annotation database, shared by all threads; created if missing."""

    def __init__(self, path: Path, max_pages: int | None = None) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._readers: queue.LifoQueue[Connection] = queue.LifoQueue()
        with _as_user_errors(path):
            _make_file(path)
            self._writer = self._connect()
            if max_pages is not None:
                self._writer.execute(f"PRAGMA max_page_count = {int(max_pages)}")
            with self.writing() as connection:
                _migrate(path, connection)

    def close(self) -> None:
        """Close every connection."""
        while not self._readers.empty():
            self._readers.get_nowait().close()
        self._writer.close()

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """Yield a connection for one transaction, committed if the block succeeds and rolled back otherwise."""
        with self._lock, _as_user_errors(self.path):
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:  # some errors end the transaction themselves
                    self._writer.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection that sees one snapshot of the database and never waits for a writer."""
        with _as_user_errors(self.path):
            try:
                connection = self._readers.get_nowait()
            except queue.Empty:
                connection = self._connect()
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("ROLLBACK")
                self._readers.put(connection)

    def _connect(self) -> Connection:
        connection = sqlite3.connect(self.path, _BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        connection.row_factory = sqlite3.Row
        # Check first: the journal mode is written to the file, and another program's file must not change.
        _version(self.path, connection)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        return connection


@contextlib.contextmanager
def reading_from(path: Path) -> Iterator[Connection]:
    """Yield a read-only connection to an existing file, which is not changed in any way.

    A database written by an older version is migrated in memory only.
    """
    _refuse_missing(path)
    with _as_user_errors(path), contextlib.closing(_open_to_read(path)) as connection:
        connection.row_factory = sqlite3.Row
        if _version(path, connection) == len(MIGRATIONS):
            connection.execute("BEGIN")
            yield connection
            return
        with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
            connection.backup(copy)
            copy.row_factory = sqlite3.Row
            _migrate(path, copy)
            yield copy


class CopiedDatabase(NamedTuple):
    """What a copy of a database contains."""

    num_annotators: int
    num_steps: int
    num_bytes: int


def copy_database(source: Path, target: Path) -> CopiedDatabase:
    """Copy a database, which may be in use, into a new file that only its owner can read.

    The copy is one snapshot with everything that was saved before the call; readers and writers of the source do not
    wait. It gets its name only after SQLite has checked it.

    Raises:
        UserError: the target exists, the source is missing or damaged, or the disk is full.
    """
    _refuse_missing(source)
    _refuse_taken(target)
    with _as_user_errors(source), contextlib.closing(_open_to_read(source)) as connection:
        if not _version(source, connection):
            raise BadInputError(f"{source}: not an annotation database; choose another with `--db`")
        with atomic_file(target, "wb") as file, _as_user_errors(target):
            os.fchmod(file.fileno(), 0o600)
            with contextlib.closing(sqlite3.connect(file.name, isolation_level=None)) as copy:
                connection.backup(copy)
                # A backup is one file, without a log.
                copy.execute("PRAGMA journal_mode = DELETE")
                if fault := _fault_in(copy):
                    raise BadInputError(f"{source}: the database is damaged ({fault}); nothing was written")
                counted = "SELECT (SELECT count(*) FROM annotator), (SELECT count(*) FROM step)"
                num_annotators, num_steps = copy.execute(counted).fetchone()
            copied = CopiedDatabase(num_annotators, num_steps, os.fstat(file.fileno()).st_size)
            _refuse_taken(target)
    return copied


def _fault_in(connection: Connection) -> str:
    """Return what SQLite's integrity check finds first; empty if nothing."""
    try:
        (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        return str(error)
    return "" if found == "ok" else " ".join(found.split())


def _refuse_taken(path: Path) -> None:
    """Raise if a database, or the log of one, is where a new one should be written."""
    _refuse_folder(path)
    for each in (path, _log_of(path), Path(f"{os.path.realpath(path)}-journal")):
        if os.path.lexists(each):
            raise UserError(f"{each}: exists and is not overwritten; move it away, or choose another file")


def is_open_to_others(path: Path) -> bool:
    """Return whether other users of this machine can access a file; always False except on POSIX."""
    return os.name == "posix" and bool(path.stat().st_mode & 0o066)


@contextlib.contextmanager
def writing_to(path: Path) -> Iterator[Connection]:
    """Yield a connection for one transaction on a file, created if missing; close it afterwards."""
    with contextlib.closing(AnnotationDatabase(path)) as database, database.writing() as connection:
        yield connection


def _cannot_be_opened(path: Path, purpose: str, error: OSError) -> BadInputError:
    return BadInputError(f"{path}: cannot be opened for {purpose} ({reason_of(error)}); choose another file")


def _refuse_missing(path: Path) -> None:
    """Raise if the file is missing or empty."""
    try:
        if not path.exists():
            raise BadInputError(f"{path}: no such file; create it with `sayso serve`, or choose another with `--db`")
        _refuse_folder(path)
        if not path.stat().st_size and not _log_of(path).exists():
            raise BadInputError(f"{path}: the file is empty, not an annotation database; choose another with `--db`")
    except OSError as error:
        raise _cannot_be_opened(path, "reading", error) from error


def _open_to_read(path: Path) -> Connection:
    """Open a file without changing it or leaving other files next to it.

    A read-only connection neither merges nor removes the log of a killed server. Without a log, a writable connection
    creates an empty one and removes it; if the file or folder is read-only, nobody is writing.
    """
    resolved = Path(os.path.realpath(path))
    is_writable = os.access(resolved, os.W_OK) and os.access(resolved.parent, os.W_OK)
    mode = "mode=ro" if _log_of(path).exists() else "mode=rw" if is_writable else "mode=ro&immutable=1"
    uri = f"file:{quote(str(resolved))}?{mode}"
    connection = sqlite3.connect(uri, _BUSY_SECONDS, isolation_level=None, uri=True)
    connection.execute("PRAGMA query_only = ON")
    return connection


def _log_of(path: Path) -> Path:
    """Return the path of a database's write-ahead log."""
    return Path(f"{os.path.realpath(path)}-wal")


def _refuse_folder(path: Path) -> None:
    if path.is_dir():
        raise BadInputError(f"{path}: is a folder; expected a file")
    if path.exists() and not path.is_file():
        raise BadInputError(f"{path}: not a regular file; choose another")
    if not Path(os.path.realpath(path)).parent.is_dir():
        raise BadInputError(f"{path}: the parent folder does not exist; create it first")


def _make_file(path: Path) -> None:
    """Create the file if missing, readable only by its owner."""
    try:
        _refuse_folder(path)
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    except OSError as error:
        raise _cannot_be_opened(path, "writing", error) from error


def _version(path: Path, connection: Connection) -> int:
    """Return the version of the tables, 0 if there are none; raise if they are newer or another program's."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    owner = connection.execute("PRAGMA application_id").fetchone()[0]
    is_empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if owner != APPLICATION_ID and not is_empty:
        raise BadInputError(f"{path}: this database belongs to another program; choose another file with `--db`")
    if version > len(MIGRATIONS):
        raise BadInputError(
            f"{path}: written by a newer version of sayso (table version {version}, supported: {len(MIGRATIONS)});"
            " update sayso, or choose another file with `--db`"
        )
    return version


def _migrate(path: Path, connection: Connection) -> None:
    """Migrate the tables to the current version, within the caller's transaction."""
    version = _version(path, connection)
    if version == len(MIGRATIONS):
        return
    for migration in MIGRATIONS[version:]:
        # Not `executescript`, which would commit the transaction first.
        for statement in _statements(migration):
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def _statements(script: str) -> Iterator[str]:
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


@contextlib.contextmanager
def _as_user_errors(path: Path) -> Iterator[None]:
    """Turn SQLite errors about the disk or the file into one-line messages that say what to do."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        # The low byte of an extended code is the basic code.
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_FULL:
            raise DiskFullError(f"{path}: the disk is full; nothing was saved: free some space and retry") from error
        if code == sqlite3.SQLITE_BUSY:
            raise BusyError(f"{path}: another program has locked the database; nothing was saved: try again") from error
        if code == sqlite3.SQLITE_IOERR:
            raise DiskFullError(f"{path}: cannot write to the disk ({error}); nothing was saved") from error
        if code in _UNREADABLE:
            raise BadInputError(f"{path}: not a valid annotation database ({error})") from error
        if code in _UNWRITABLE:
            raise BadInputError(f"{path}: cannot be opened or written ({error}); choose another file") from error
        raise
