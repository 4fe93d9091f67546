"""The guideline for annotators and the definitions of relations, which leads change; every version is kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sayso.annotate.marking import StaleError
from sayso.annotate.people import Annotator, now
from sayso.annotate.store import Connection
from sayso.errors import UserError
from sayso.records import Relation
from sayso.tokens import control_character

MAX_LENGTH, MAX_DEFINITION = 20_000, 1_000
DEFAULT_GUIDELINE = Path(__file__).with_name("guideline.txt").read_text("utf-8").strip()


@dataclass(frozen=True, kw_only=True)
class GuidelineVersion:
    """A version of the guideline; number 0 is the default before anyone has changed it.

    `author` and `time` (UTC) are empty if they are unknown.
    """

    number: int
    text: str
    author: str = ""
    time: str = ""


@dataclass(frozen=True, kw_only=True)
class DefinitionVersion:
    """A definition and example of a relation, and who entered them when (UTC); empty ones restore the store's."""

    relation: str
    definition: str
    example: str
    author: str
    time: str


def guideline_versions(connection: Connection) -> list[GuidelineVersion]:
    """Return all versions of the guideline, from the default to the current one."""
    rows = connection.execute(
        "SELECT guideline.id, text, coalesce(name, ''), time FROM guideline"
        " LEFT JOIN annotator ON annotator.id = author ORDER BY guideline.id"
    )
    stored = [
        GuidelineVersion(number=number, text=text or DEFAULT_GUIDELINE, author=author, time=time)
        for number, text, author, time in rows
    ]
    return [GuidelineVersion(number=0, text=DEFAULT_GUIDELINE), *stored]


def read_guideline(connection: Connection) -> GuidelineVersion:
    """Return the current guideline."""
    return guideline_versions(connection)[-1]


def write_guideline(connection: Connection, author: Annotator, text: str, based_on: int | None = None) -> None:
    """Store a new version of the guideline; an empty text restores the default.

    Raises `StaleError` if someone has changed it since the version that it is based on.
    """
    text = text.replace("\r\n", "\n").strip()
    current = read_guideline(connection)
    if (text or DEFAULT_GUIDELINE) == current.text:
        return
    if based_on is not None and based_on != current.number:
        raise StaleError(f"{current.author or 'Someone'} has changed the guideline since you opened it.")
    row = ("" if text == DEFAULT_GUIDELINE else text, author.id, now())
    connection.execute("INSERT INTO guideline (text, author, time) VALUES (?, ?, ?)", row)


def latest_definition(connection: Connection) -> int:
    """Return a number that changes with every definition that is entered."""
    number: int = connection.execute("SELECT coalesce(max(id), 0) FROM definition").fetchone()[0]
    return number


def definition_versions(connection: Connection) -> dict[str, list[DefinitionVersion]]:
    """Return the definitions that have been entered, by relation, latest first."""
    rows = connection.execute(
        "SELECT relation, definition, example, name, time FROM definition"
        " JOIN annotator ON annotator.id = author ORDER BY definition.id DESC"
    )
    found: dict[str, list[DefinitionVersion]] = {}
    for relation, definition, example, author, time in rows:
        version = DefinitionVersion(relation=relation, definition=definition, example=example, author=author, time=time)
        found.setdefault(relation, []).append(version)
    return found


def write_definition(connection: Connection, author: Annotator, relation: str, definition: str, example: str) -> None:
    """Store a definition and an example of a relation, on one line each; if both are empty, the store's apply again."""
    definition, example = (" ".join(text.split()) for text in (definition, example))
    for text in (definition, example):
        if len(text) > MAX_DEFINITION:
            raise UserError(f"a definition or example may have at most {MAX_DEFINITION:,} characters")
        if found := control_character(text):
            raise UserError(f"a definition or example contains {found}")
    versions = definition_versions(connection).get(relation)
    before = (versions[0].definition, versions[0].example) if versions else ("", "")
    if before != (definition, example):
        connection.execute(
            "INSERT INTO definition (relation, definition, example, author, time) VALUES (?, ?, ?, ?, ?)",
            (relation, definition, example, author.id, now()),
        )


def with_definitions(relations: Sequence[Relation], connection: Connection) -> list[Relation]:
    """Return the relations with the definitions that have been entered instead of the store's."""
    entered = {name: versions[0] for name, versions in definition_versions(connection).items()}
    return [
        each._replace(definition=new.definition, example=new.example)
        if (new := entered.get(each.name)) and (new.definition or new.example)
        else each
        for each in relations
    ]
