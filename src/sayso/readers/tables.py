"""Read the small tables that come with a corpus: relation inventories, entity types, facts, and decisions on facts.

Relations have an order and a meaning, and come in four formats: NRE's `relation2id.txt`, OpenNRE's `rel2id.json`, a
tab-separated table with a header, and JSON lines. Types are a JSON object that maps ids to lists of types, or
tab-separated lines of an id and its types. Facts are tab-separated, decisions on them JSON lines.
"""

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from sayso.errors import BadInputError
from sayso.input_file import holds_no, note_old_format
from sayso.readers.base import BadLineError, located, refuse_control
from sayso.readers.files import lines_with_text, parse_lines, read_json, read_text
from sayso.readers.json_line import has_keys, json_object, objects, string
from sayso.records import NA_NAMES, Relation, Triple

TypeTable = dict[str, tuple[str, ...]]
FactDecisionName = Literal["accepted", "rejected"]

_EXPECTED_TYPES = 'expected {"id": ["/type", …], …}, or tab-separated lines of an id and its types'
_MAX_ENTITY_SHARE = 0.1
"""If a larger fraction of the types are also entities, the file is a knowledge base."""

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
        return _json_relations
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


def _json_relations(path: Path, text: str) -> Iterator[_Entry]:
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


def read_entity_types(path: Path, relations: Collection[str] = ()) -> TypeTable:
    """Return each entity's types in file order, including entities listed without types.

    In the tab-separated format, types on several lines for one entity are merged. A knowledge base has the same layout;
    it is refused if one of its "types" is a name in `relations`, or if many of them are entities.
    """
    text = read_text(path, "types")
    is_json = text.lstrip().startswith("{")
    if not is_json and ("\t" not in text or text.lstrip().startswith("[")):
        raise BadInputError(f"{path}: not a type table; {_EXPECTED_TYPES}")
    types = _types_from_json(path, text) if is_json else _types_from_columns(path, text)
    if not types:
        raise holds_no(path, "types")
    _refuse_facts(path, types, relations)
    return types


def refuse_no_type(path: Path, types: TypeTable, entities: Collection[str]) -> None:
    """Raise `BadInputError` if no entity in the corpus has a type in the table."""
    if entities and not any(types.get(entity_id) for entity_id in entities):
        raise BadInputError(
            f"{path}: none of the {len(entities):,} entities in the corpus (such as {min(entities)!r}) has a type in"
            f" this file; {_EXPECTED_TYPES}"
        )


def _refuse_facts(path: Path, types: TypeTable, relations: Collection[str]) -> None:
    """Raise `BadInputError` if a type is a relation, or too many types are entities (a class may also be an entity)."""
    names = {name for kinds in types.values() for name in kinds}
    relation = next((name for name in relations if name in names), "")
    if relation or len(names & types.keys()) > _MAX_ENTITY_SHARE * len(types):
        why = f"{relation!r} is a relation" if relation else "its types are themselves entities"
        raise BadInputError(f"{path}: contains facts, not types: {why}; {_EXPECTED_TYPES}")


def _types_from_json(path: Path, text: str) -> TypeTable:
    types: TypeTable = {}
    for entity_id, names in read_json(path, text).items():
        if not isinstance(names, list) or not all(isinstance(name, str) and name.strip() for name in names):
            raise BadInputError(f"{path}: the types of {entity_id!r} are not a list of non-empty strings")
        with located(f"{path}"):
            refuse_control(entity_id, *names)
        types[entity_id] = tuple(dict.fromkeys(names))
    return types


def _types_from_columns(path: Path, text: str) -> TypeTable:
    types: dict[str, dict[str, None]] = {}
    for number, line in lines_with_text(text):
        entity_id, *names = (column.strip() for column in line.split("\t"))
        with located(f"{path}:{number}"):
            if not entity_id:
                raise BadLineError("the entity id is empty; expected tab-separated id and types")
            refuse_control(entity_id, *names)
        types.setdefault(entity_id, {}).update(dict.fromkeys(name for name in names if name))
    return {entity_id: tuple(names) for entity_id, names in types.items()}


class SentenceDecision(NamedTuple):
    """An annotator's decision on one sentence of a fact."""

    sentence: str
    decision: FactDecisionName
    reason: str = ""


class FactDecision(NamedTuple):
    """An annotator's decision on a fact; `by`, `at` and `reason` are empty if the line does not give them.

    `quotes` are the decisions on its sentences.
    """

    fact: Triple
    decision: FactDecisionName
    by: str = ""
    at: str = ""
    reason: str = ""
    quotes: tuple[SentenceDecision, ...] = ()


def read_triples(path: Path) -> Iterator[Triple]:
    """Yield the facts (head id, relation, tail id) in the file in order, including repeated ones."""
    return (triple for _, triple in parse_lines(path, "facts", _triple))


def _triple(text: str) -> Triple:
    columns = text.split("\t")
    if len(columns) != 3:
        raise BadLineError(f"expected 3 columns (head, relation, tail), got {len(columns)}")
    if not all(column.strip() for column in columns):
        raise BadLineError("head, relation or tail is empty")
    refuse_control(*columns)
    return Triple(*columns)


def read_decisions(path: Path) -> Iterator[FactDecision]:
    """Yield the decisions in a file written by `sayso decisions export --format decisions`; raise on a bad line."""
    return (decision for _, decision in parse_lines(path, "decisions", lambda text: _decision(text, path)))


def _decision(text: str, path: Path) -> FactDecision:
    record = json_object(text)
    if "decision" not in record and "verdict" in record:
        note_old_format(path, "'verdict' is now called 'decision'")
        record["decision"] = record["verdict"]
    head_id, relation, tail_id, decision = (string(record, key) for key in ("head", "relation", "tail", "decision"))
    refuse_control(head_id, relation, tail_id)
    by, at, reason = (string(record, key, "") for key in ("by", "at", "reason"))
    quotes = tuple(
        SentenceDecision(string(each, "sentence"), _known(string(each, "decision")), string(each, "reason", ""))
        for each in (objects(record, "quotes") if "quotes" in record else ())
    )
    return FactDecision(Triple(head_id, relation, tail_id), _known(decision), by, at, reason, quotes)


def _known(decision: str) -> FactDecisionName:
    known: tuple[FactDecisionName, ...] = get_args(FactDecisionName)
    if decision not in known:
        raise BadLineError(f"'decision' is {decision[:20]!r}; it must be {' or '.join(known)}")
    return known[known.index(decision)]
