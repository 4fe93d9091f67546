"""Relation inventories: which relations there are, in which order, and what they mean.

Four forms: NRE's `relation2id.txt`, OpenNRE's `rel2id.json`, a table with tabs and a header, JSON lines.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sayso.errors import BadInputError
from sayso.input_file import holds_no
from sayso.readers.base import BadLineError, refuse_control
from sayso.readers.files import lines_with_text, read_json, read_text
from sayso.readers.json_line import has_keys, json_object, string
from sayso.records import NA_NAMES, Relation

_COLUMNS = ("name", "definition", "example", "functional")
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False, "": False}


class Entry(NamedTuple):
    """A relation with the line it stands on, and the id that the form gives it, if the form gives ids."""

    number: int
    relation: Relation
    relation_id: int | None = None


def read_inventory(path: Path) -> list[Relation]:
    """Return the relations in the order of the file, NA left out."""
    text = read_text(path, "relations")
    try:
        entries = list(_form_of(text)(path, text))
    except _BadEntryError as error:
        raise BadInputError(f"{path}:{error.number}: {error}") from error
    _refuse_repeats(path, entries)
    _refuse_gaps(path, entries)
    relations = [entry.relation for entry in entries if entry.relation.name not in NA_NAMES]
    if not relations:
        raise holds_no(path, "relations")
    return relations


class _BadEntryError(Exception):
    def __init__(self, number: int, reason: str) -> None:
        super().__init__(reason)
        self.number = number


def _form_of(text: str) -> Callable[[Path, str], Iterator[Entry]]:
    first = text.lstrip().split("\n", 1)[0]
    if first.strip().isdecimal():
        return _numbered
    if has_keys(first, "name") and not isinstance(json_object(first)["name"], int):
        return _json_lines
    return _json_ids if first.startswith("{") else _table


def _numbered(_: Path, text: str) -> Iterator[Entry]:
    """Yield NRE's `name id` lines, whose number stands on the first line."""
    (first, promised), *lines = lines_with_text(text)
    for number, line in lines:
        columns = line.split()
        if len(columns) != 2 or not columns[1].isdecimal():
            raise _BadEntryError(number, "a relation's name and its id are expected, with a space between")
        yield Entry(number, Relation(_name(number, columns[0])), _small(number, columns[1]))
    if _small(first, promised.strip()) != len(lines):
        raise _BadEntryError(first, f"{promised.strip()} relations are promised, {len(lines)} are there")


def _small(number: int, digits: str) -> int:
    if len(digits) > 9:
        raise _BadEntryError(number, f"{digits[:9]}… is no id of a relation")
    return int(digits)


def _json_ids(path: Path, text: str) -> Iterator[Entry]:
    """Yield what OpenNRE's object from name to id holds."""
    for name, relation_id in read_json(path, text).items():
        number = text.count("\n", 0, max(text.find(f'"{name}"'), 0)) + 1
        if type(relation_id) is not int:
            raise _BadEntryError(number, f"the id of {name!r} is not a whole number")
        yield Entry(number, Relation(_name(number, name)), relation_id)


def _table(_: Path, text: str) -> Iterator[Entry]:
    """Yield the rows of a table with tabs; the header says which columns there are."""
    (first, header), *rows = lines_with_text(text)
    columns = [column.strip().lower() for column in header.split("\t")]
    if columns[0] != "name" or not set(columns) <= set(_COLUMNS) or len(set(columns)) < len(columns):
        raise _BadEntryError(first, f"the header is not of the columns {', '.join(_COLUMNS)} with tabs between")
    for number, row in rows:
        values = [value.strip() for value in row.split("\t")]
        if len(values) > len(columns):
            raise _BadEntryError(number, f"{len(values)} columns where the header has {len(columns)}")
        yield Entry(number, _relation(number, dict(zip(columns, values, strict=False))))


def _json_lines(_: Path, text: str) -> Iterator[Entry]:
    """Yield the relation of each line."""
    for number, line in lines_with_text(text):
        try:
            record = json_object(line)
            functional = record.get("functional", False)
            if not isinstance(functional, bool):
                raise BadLineError("'functional' is not true or false")
            values = {key: string(record, key, "") for key in _COLUMNS[:3]}
        except BadLineError as error:
            raise _BadEntryError(number, str(error)) from error
        yield Entry(number, _relation(number, {**values, "functional": str(functional)}))


def _relation(number: int, values: dict[str, str]) -> Relation:
    functional = values.get("functional", "").lower()
    if functional not in _TRUTH:
        raise _BadEntryError(number, f"'functional' is {functional[:20]!r}; write true or false")
    name = _name(number, values["name"])
    return Relation(name, values.get("definition", ""), values.get("example", ""), _TRUTH[functional])


def _name(number: int, name: str) -> str:
    if not name.strip():
        raise _BadEntryError(number, "the relation's name is empty")
    try:
        refuse_control(name)
    except BadLineError as error:
        raise _BadEntryError(number, str(error)) from None
    return name


def _refuse_repeats(path: Path, entries: list[Entry]) -> None:
    seen: dict[Any, int] = {}
    for number, relation, relation_id in entries:
        for key, what in ((relation.name, "relation"), (relation_id, "id")):
            if key is not None and key in seen:
                raise BadInputError(f"{path}:{number}: {what} {key!r} stands on line {seen[key]} already")
            seen[key] = number


def _refuse_gaps(path: Path, entries: list[Entry]) -> None:
    for number, _, relation_id in entries:
        if relation_id is not None and not 0 <= relation_id < len(entries):
            last = len(entries) - 1
            raise BadInputError(f"{path}:{number}: id {relation_id} leaves a gap; the ids must be 0 to {last}")
