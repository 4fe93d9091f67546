"""Types of entities: a JSON object from id to a list of types, or lines of id and types with tabs."""

from collections.abc import Collection
from pathlib import Path

from sayso.errors import BadInputError
from sayso.input_file import holds_no
from sayso.readers.base import BadLineError, refuse_control
from sayso.readers.files import lines_with_text, read_json, read_text

TypeTable = dict[str, tuple[str, ...]]

_EXPECTED = 'a table of types is {"id": ["/type", …], …}, or lines of an id and its types with tabs between'

_MAX_ENTITY_SHARE = 0.1
"""Share of types that are also entities above which the file is a knowledge base."""


def read_entity_types(path: Path, relations: Collection[str] = ()) -> TypeTable:
    """Return each entity's types in the given order; an entity listed without types is kept.

    With tabs, the types on several lines of one entity are joined. A knowledge base looks the same; it is recognised by
    the names of its `relations`, or by tails that are entities, and refused.
    """
    text = read_text(path, "types")
    is_json = text.lstrip().startswith("{")
    if not is_json and ("\t" not in text or text.lstrip().startswith("[")):
        raise BadInputError(f"{path}: not a table of types; {_EXPECTED}")
    types = _from_json(path, text) if is_json else _from_columns(path, text)
    if not types:
        raise holds_no(path, "types")
    _refuse_facts(path, types, relations)
    return types


def refuse_no_type(path: Path, types: TypeTable, entities: Collection[str]) -> None:
    """Raise `BadInputError` if the table has a type for none of the entities of a corpus."""
    if entities and not any(types.get(entity_id) for entity_id in entities):
        raise BadInputError(
            f"{path}: none of the {len(entities):,} entities of the corpus ({min(entities)!r} is one) has a type in"
            f" this file; {_EXPECTED}"
        )


def _refuse_facts(path: Path, types: TypeTable, relations: Collection[str]) -> None:
    """Raise `BadInputError` if types are relations, or too many are entities (a class may be an entity too)."""
    names = {name for kinds in types.values() for name in kinds}
    relation = next((name for name in relations if name in names), "")
    if relation or len(names & types.keys()) > _MAX_ENTITY_SHARE * len(types):
        why = f"{relation!r} is a relation" if relation else "its types are entities themselves"
        raise BadInputError(f"{path}: a file of facts, not of types: {why}; {_EXPECTED}")


def _from_json(path: Path, text: str) -> TypeTable:
    types: TypeTable = {}
    for entity_id, names in read_json(path, text).items():
        if not isinstance(names, list) or not all(isinstance(name, str) and name.strip() for name in names):
            raise BadInputError(f"{path}: the types of {entity_id!r} are not a list of names")
        _refuse_control(f"{path}", entity_id, *names)
        types[entity_id] = tuple(dict.fromkeys(names))
    return types


def _from_columns(path: Path, text: str) -> TypeTable:
    types: dict[str, dict[str, None]] = {}
    for number, line in lines_with_text(text):
        entity_id, *names = (column.strip() for column in line.split("\t"))
        if not entity_id:
            raise BadInputError(f"{path}:{number}: the entity id is empty; id and types with tabs between are expected")
        _refuse_control(f"{path}:{number}", entity_id, *names)
        types.setdefault(entity_id, {}).update(dict.fromkeys(name for name in names if name))
    return {entity_id: tuple(names) for entity_id, names in types.items()}


def _refuse_control(where: str, *names: str) -> None:
    try:
        refuse_control(*names)
    except BadLineError as error:
        raise BadInputError(f"{where}: {error}") from None
