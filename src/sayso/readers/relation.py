"""Read relation inventories: the relations, their order and their meaning.

Four formats: NRE's `relation2id.txt`, OpenNRE's `rel2id.json`, a tab-separated table with a header, and JSON lines.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sayso.errors import BadInputError
from sayso.input_file import holds_no
from sayso.readers.base import BadLineError, located, refuse_control
from sayso.readers.files import lines_with_text, read_json, read_text
from sayso.readers.json_line import has_keys, json_object, string
from sayso.records import NA_NAMES, Relation

_COLUMNS = ("name", "definition", "example", "functional")
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False, "": False}

_Entry = tuple[int, Relation, int | None]
"""Line number, relation, and the relation's id (None in formats without ids)."""


def read_inventory(path: Path) -> list[Relation]:
    """Return the relations in file order, without NA."""
    text = read_text(path, "relations")
    entries = list(_format_of(text)(path, text))
    _refuse_repeats(path, entries)
    relations = [relation for _, relation, _ in entries if relation.name not in NA_NAMES]
    if not relations:
        raise holds_no(path, "relations")
    return relations


def _format_of(text: str) -> Callable[[Path, str], Iterator[_Entry]]:
    first = text.lstrip().split("\n", 1)[0]
    if first.strip().isdecimal():
        return _numbered
    if has_keys(first, "name") and not isinstance(json_object(first)["name"], int):
        return _json_lines
    return _json_ids if first.startswith("{") else _table


def _numbered(path: Path, text: str) -> Iterator[_Entry]:
    """Parse NRE's `name id` lines; the first line is the number of relations."""
    (first, announced), *lines = lines_with_text(text)
    for number, line in lines:
        columns = line.split()
        if len(columns) != 2 or not columns[1].isdecimal() or len(columns[1]) > 9:
            raise _bad(path, number, "expected a relation's name and its id, separated by a space")
        yield number, _relation(path, number, {"name": columns[0]}), int(columns[1])
    if announced.strip() != str(len(lines)):
        raise _bad(path, first, f"declares {announced.strip()[:20]} relations, but the file lists {len(lines)}")


def _json_ids(path: Path, text: str) -> Iterator[_Entry]:
    """Parse OpenNRE's JSON object that maps names to ids."""
    for name, relation_id in read_json(path, text).items():
        number = text.count("\n", 0, max(text.find(f'"{name}"'), 0)) + 1
        if type(relation_id) is not int:
            raise _bad(path, number, f"the id of {name!r} is not an integer")
        yield number, _relation(path, number, {"name": name}), relation_id


def _table(path: Path, text: str) -> Iterator[_Entry]:
    """Parse a tab-separated table with a header."""
    (first, header), *rows = lines_with_text(text)
    columns = [column.strip().lower() for column in header.split("\t")]
    if columns[0] != "name" or not set(columns) <= set(_COLUMNS) or len(set(columns)) < len(columns):
        raise _bad(path, first, f"expected a tab-separated header with the columns {', '.join(_COLUMNS)}")
    for number, row in rows:
        values = [value.strip() for value in row.split("\t")]
        if len(values) > len(columns):
            raise _bad(path, number, f"got {len(values)} columns, but the header has {len(columns)}")
        yield number, _relation(path, number, dict(zip(columns, values, strict=False))), None


def _json_lines(path: Path, text: str) -> Iterator[_Entry]:
    for number, line in lines_with_text(text):
        with located(f"{path}:{number}"):
            record = json_object(line)
            functional = record.get("functional", False)
            if not isinstance(functional, bool):
                raise BadLineError("'functional' is not true or false")
            values = {key: string(record, key, "") for key in _COLUMNS[:3]}
        yield number, _relation(path, number, {**values, "functional": str(functional)}), None


def _relation(path: Path, number: int, values: dict[str, str]) -> Relation:
    functional, name = values.get("functional", "").lower(), values["name"]
    with located(f"{path}:{number}"):
        if functional not in _TRUTH:
            raise BadLineError(f"'functional' is {functional[:20]!r}; write true or false")
        if not name.strip():
            raise BadLineError("the relation's name is empty")
        refuse_control(name)
    return Relation(name, values.get("definition", ""), values.get("example", ""), _TRUTH[functional])


def _refuse_repeats(path: Path, entries: list[_Entry]) -> None:
    """Raise `BadInputError` for a repeated name or id, and for ids that are not 0 to n - 1."""
    seen: dict[Any, int] = {}
    for number, relation, relation_id in entries:
        for key, what in ((relation.name, "relation"), (relation_id, "id")):
            if key is not None and key in seen:
                raise _bad(path, number, f"{what} {key!r} is already on line {seen[key]}")
            seen[key] = number
    for number, _, relation_id in entries:
        if relation_id is not None and not 0 <= relation_id < len(entries):
            raise _bad(path, number, f"id {relation_id} is out of range; the ids must be 0 to {len(entries) - 1}")


def _bad(path: Path, number: int, reason: str) -> BadInputError:
    return BadInputError(f"{path}:{number}: {reason}")
