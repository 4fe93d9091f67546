"""The names of the knowledge base's entities: lines of id, name and other names, with tabs or as JSON."""

from collections.abc import Iterator
from pathlib import Path

from sayso.errors import BadInputError
from sayso.input_file import holds_no
from sayso.readers.base import BadLine, BadLineError, refuse_control
from sayso.readers.files import read_lines
from sayso.readers.json_line import json_object, string, strings

Names = dict[str, tuple[str, ...]]
"""For each entity id its names, the first being the one to show."""


def read_names(path: Path) -> Names:
    """Return the names of each entity; one that has several lines has the names of all of them.

    An entity without a name is a `BadInputError`, and so is any other fault: half a table of names is worse than none.
    """
    names: dict[str, dict[str, None]] = {}
    for number, (entity_id, found) in _rows(path):
        if not found:
            raise BadInputError(
                f"{path}:{number}: entity {entity_id!r} has no name; expected are id, name, other names"
            )
        names.setdefault(entity_id, {}).update(dict.fromkeys(found))
    if not names:
        raise holds_no(path, "names")
    return {entity_id: tuple(found) for entity_id, found in names.items()}


def _rows(path: Path) -> Iterator[tuple[int, tuple[str, list[str]]]]:
    for number, text in read_lines(path):
        if isinstance(text, BadLine):
            raise BadInputError(f"{path}:{number}: {text.reason}")
        if text.strip():
            try:
                yield number, _from_json(text) if text.lstrip().startswith("{") else _from_columns(text)
            except BadLineError as error:
                raise BadInputError(f"{path}:{number}: {error}") from error


def _from_columns(text: str) -> tuple[str, list[str]]:
    entity_id, *names = text.split("\t")
    return checked_id(entity_id.strip()), _cleaned(names)


def _from_json(text: str) -> tuple[str, list[str]]:
    record = json_object(text)
    others = strings(record, "aliases") if "aliases" in record else []
    return checked_id(string(record, "id").strip()), _cleaned([string(record, "name"), *others])


def _cleaned(names: list[str]) -> list[str]:
    cleaned = [" ".join(name.split()) for name in names]
    refuse_control(*cleaned)
    return [name for name in cleaned if name]


def checked_id(entity_id: str) -> str:
    """Return the id, which must hold something and no control character."""
    if not entity_id:
        raise BadLineError("the entity id is empty")
    refuse_control(entity_id)
    return entity_id
