"""`sayso backup` and `sayso restore`: copy an annotation database, also while it is in use."""

from pathlib import Path
from typing import Annotated

import typer

from sayso.cli.console import print_result, say_next
from sayso.cli.options import AnnotationDb, AsJson, store_of_database
from sayso.errors import as_command

NewDb = Annotated[Path, typer.Option("--db", help="Annotation database to make from the backup; must not exist.")]


def backup(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File to write; must not exist.")],
    db: AnnotationDb,
    as_json: AsJson = False,
) -> None:
    """Copy an annotation database into a new file; the workbench may be running.

    The copy has everything that was saved before the command started: marks, decisions, settings, links and the whole
    log. It is checked before it gets its name, and only its owner can read it.

    Example: `sayso backup monday.db --db demo/store.annotations.db`
    """
    _copy(db, out, as_json)
    say_next(str(out), hint=f"to restore it: {as_command('sayso', 'restore', out, '--db', 'FILE')}")


def restore(
    file: Annotated[Path, typer.Argument(metavar="BACKUP", help="File written by `sayso backup`.")],
    db: NewDb,
    as_json: AsJson = False,
) -> None:
    """Make an annotation database from a backup.

    An existing database is never overwritten: stop the workbench, and move the database away together with the files
    that end in -wal and -shm.

    Example: `sayso restore monday.db --db demo/store.annotations.db`
    """
    _copy(file, db, as_json)
    store = store_of_database(db)
    command = as_command("sayso", "serve", "--data", store or "STORE", "--db", db)
    say_next(str(db), *[command] * bool(store), hint="" if store else f"to open it: {command}")


def _copy(source: Path, target: Path, as_json: bool) -> None:
    from sayso.annotate.store import copy_database

    copied = copy_database(source, target)
    who = "annotator" if copied.num_annotators == 1 else "annotators"
    text = f"{copied.num_steps:,} recorded changes by {copied.num_annotators:,} {who}"
    print_result(as_json, {"written": str(target), **copied._asdict()}, text)
