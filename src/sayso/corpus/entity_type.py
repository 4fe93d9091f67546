"""Fine-grained types of entities: a JSON object from id to a list of types, or lines of id and types with tabs."""

from pathlib import Path

from sayso.corpus.base import BadLineError, refuse_control
from sayso.corpus.whole import read_json, read_text
from sayso.errors import BadInputError

EntityTypes = dict[str, tuple[str, ...]]


def read_entity_types(path: Path) -> EntityTypes:
    """Return each entity's types in the order given; an entity listed without types has none, but is there.

    In the form with tabs an entity may have several lines; its types are those of all of them.
    """
    text = read_text(path)
    return _from_json(path, text) if text.lstrip().startswith("{") else _from_columns(path, text)


def _from_json(path: Path, text: str) -> EntityTypes:
    types: EntityTypes = {}
    for entity_id, names in read_json(path, text).items():
        if not isinstance(names, list) or not all(isinstance(name, str) and name.strip() for name in names):
            raise BadInputError(f"{path}: the types of {entity_id!r} are not a list of names")
        _refuse_control(f"{path}", entity_id, *names)
        types[entity_id] = tuple(dict.fromkeys(names))
    return types


def _from_columns(path: Path, text: str) -> EntityTypes:
    types: dict[str, dict[str, None]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        entity_id, *names = (column.strip() for column in line.split("\t"))
        if not entity_id:
            raise BadInputError(f"{path}:{number}: the entity id is empty; expected are id and types with tabs between")
        _refuse_control(f"{path}:{number}", entity_id, *names)
        types.setdefault(entity_id, {}).update(dict.fromkeys(name for name in names if name))
    return {entity_id: tuple(names) for entity_id, names in types.items()}


def _refuse_control(where: str, *names: str) -> None:
    try:
        refuse_control(*names)
    except BadLineError as error:
        raise BadInputError(f"{where}: {error}") from None
