"""Read entity types: a JSON object that maps ids to lists of types, or tab-separated lines of an id and its types."""

from collections.abc import Collection
from pathlib import Path

from sayso.errors import BadInputError
from sayso.input_file import holds_no
from sayso.readers.base import BadLineError, located, refuse_control
from sayso.readers.files import lines_with_text, read_json, read_text

TypeTable = dict[str, tuple[str, ...]]

_EXPECTED = 'expected {"id": ["/type", …], …}, or tab-separated lines of an id and its types'

_MAX_ENTITY_SHARE = 0.1
"""If a larger fraction of the types are also entities, the file is a knowledge base."""


def read_entity_types(path: Path, relations: Collection[str] = ()) -> TypeTable:
    """Return each entity's types in file order, including entities listed without types.

    In the tab-separated format, types on several lines for one entity are merged. A knowledge base has the same layout;
    it is refused if one of its "types" is a name in `relations`, or if many of them are entities.
    """
    text = read_text(path, "types")
    is_json = text.lstrip().startswith("{")
    if not is_json and ("\t" not in text or text.lstrip().startswith("[")):
        raise BadInputError(f"{path}: not a type table; {_EXPECTED}")
    types = _from_json(path, text) if is_json else _from_columns(path, text)
    if not types:
        raise holds_no(path, "types")
    _refuse_facts(path, types, relations)
    return types


def refuse_no_type(path: Path, types: TypeTable, entities: Collection[str]) -> None:
    """Raise `BadInputError` if no entity in the corpus has a type in the table."""
    if entities and not any(types.get(entity_id) for entity_id in entities):
        raise BadInputError(
            f"{path}: none of the {len(entities):,} entities in the corpus (such as {min(entities)!r}) has a type in"
            f" this file; {_EXPECTED}"
        )


def _refuse_facts(path: Path, types: TypeTable, relations: Collection[str]) -> None:
    """Raise `BadInputError` if a type is a relation, or too many types are entities (a class may also be an entity)."""
    names = {name for kinds in types.values() for name in kinds}
    relation = next((name for name in relations if name in names), "")
    if relation or len(names & types.keys()) > _MAX_ENTITY_SHARE * len(types):
        why = f"{relation!r} is a relation" if relation else "its types are themselves entities"
        raise BadInputError(f"{path}: contains facts, not types: {why}; {_EXPECTED}")


def _from_json(path: Path, text: str) -> TypeTable:
    types: TypeTable = {}
    for entity_id, names in read_json(path, text).items():
        if not isinstance(names, list) or not all(isinstance(name, str) and name.strip() for name in names):
            raise BadInputError(f"{path}: the types of {entity_id!r} are not a list of non-empty strings")
        with located(f"{path}"):
            refuse_control(entity_id, *names)
        types[entity_id] = tuple(dict.fromkeys(names))
    return types


def _from_columns(path: Path, text: str) -> TypeTable:
    types: dict[str, dict[str, None]] = {}
    for number, line in lines_with_text(text):
        entity_id, *names = (column.strip() for column in line.split("\t"))
        with located(f"{path}:{number}"):
            if not entity_id:
                raise BadLineError("the entity id is empty; expected tab-separated id and types")
            refuse_control(entity_id, *names)
        types.setdefault(entity_id, {}).update(dict.fromkeys(name for name in names if name))
    return {entity_id: tuple(names) for entity_id, names in types.items()}
