"""Export and import of marks, comments and reports of wrong facts, and their file formats."""

import csv
import io
import json
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from sayso.annotate.agreement import settled_labels, submitted_marks
from sayso.annotate.assignment import claim
from sayso.annotate.log import IS_FINISHED, WHOLE_FACT, Change, entries, record
from sayso.annotate.marking import COMMENT, LABELS, MARK, SUBMITTED, WRONG, YES
from sayso.annotate.people import KNOWN, annotator_named
from sayso.annotate.store import Connection
from sayso.errors import BadInputError
from sayso.facts.export import bare, shielded
from sayso.input_file import holding, refuse_pipe
from sayso.io.atomic import atomic_file
from sayso.metrics.agreement import IRRELEVANT, RATIONALE, majority
from sayso.readers.base import BadLine, BadLineError, parse_each
from sayso.readers.files import first_of, parse_lines, read_lines, read_text
from sayso.readers.json_line import has_keys, json_object, string
from sayso.readers.mark import MarkItem, read_eraser, read_mark_lines, with_plain_names, write_eraser, write_mark
from sayso.records import Mark, Triple

COLUMNS = ("head", "tail", "relation", "sentence", "label", "by")
NAME_COLUMNS = ("head_name", "tail_name")
NamesById = Mapping[str, str]
"""The names of entities by id; files have an empty name, or none, for other entities."""
NO_NAMES: NamesById = MappingProxyType({})
ERASER_FILE = "rationales.jsonl"
_NUM_SHOWN = 5
IMPORTED = "import"
"""The annotator name for imported marks without one; also the scope of import steps."""


class Imported(NamedTuple):
    """How many marks, annotators and facts were imported."""

    num_marks: int
    num_annotators: int
    num_facts: int


def each_mark(connection: Connection, facts: Collection[Triple] | None = None) -> Iterator[Mark]:
    """Return every annotator's submitted marks, not counting practice, on all facts or only on the given ones."""
    return (mark for mark in submitted_marks(connection) if facts is None or mark.fact in facts)


def settled_marks(connection: Connection, facts: Collection[Triple] | None = None) -> Iterator[Mark]:
    """Yield one mark per sentence, without an annotator: the settled label, otherwise the majority."""
    settled = settled_labels(connection)
    # The marks are ordered by fact and sentence.
    for (fact, sentence), given in groupby(each_mark(connection, facts), key=lambda mark: (mark.fact, mark.sentence)):
        label, _ = settled.get((fact, sentence)) or (majority(mark.label for mark in given), "")
        yield Mark(fact.head_id, fact.tail_id, fact.relation, sentence, label)


def save_marks(connection: Connection, marks: Iterable[Mark], is_known: bool = False) -> Imported:
    """Save marks as submitted by the annotators they name, or as known answers for a pilot round.

    An annotator's earlier mark on the same sentence is replaced; the log keeps it.
    """
    by_person: dict[str, list[Mark]] = {}
    for mark in marks:
        by_person.setdefault(mark.annotator or IMPORTED, []).append(mark)
    for name, theirs in by_person.items():
        _take(connection, name, theirs, is_known)
    everything = [each for theirs in by_person.values() for each in theirs]
    return Imported(len(everything), len(by_person), len({each.fact for each in everything}))


def _take(connection: Connection, name: str, marks: list[Mark], is_known: bool) -> None:
    annotator = annotator_named(connection, name)
    changes = [Change(each.fact, each.sentence, MARK, each.label) for each in marks]
    if not is_known:
        for fact in dict.fromkeys(each.fact for each in marks):
            claim(connection, annotator, fact, None)
            changes.append(Change(fact, WHOLE_FACT, SUBMITTED, YES))
    record(connection, annotator, IMPORTED, uuid.uuid4().hex, changes, KNOWN if is_known else None)


class FactComment(NamedTuple):
    """One annotator's comment on a fact, and whether they report it as wrong."""

    fact: Triple
    annotator: str
    comment: str
    is_wrong: bool


def fact_comments(connection: Connection, facts: Collection[Triple] | None = None) -> list[FactComment]:
    """Return the comments on submitted facts, not counting practice, and all imported ones."""
    said = entries(connection, f"kind IN (?, ?) AND (scope = ? OR {IS_FINISHED})", COMMENT, WRONG, IMPORTED)
    found = []
    for (fact, name), theirs in groupby(said, key=lambda each: (each.fact, each.owner)):
        values = {each.kind: each.value for each in theirs}
        found.append(FactComment(fact, name, values.get(COMMENT, ""), WRONG in values))
    return [each for each in found if facts is None or each.fact in facts]


def save_comments(connection: Connection, given: Iterable[FactComment]) -> None:
    """Save comments under their annotators' names, replacing earlier ones; the log keeps those."""
    for fact, name, comment, is_wrong in given:
        values = {COMMENT: comment, WRONG: YES if is_wrong else ""}
        changes = [Change(fact, WHOLE_FACT, kind, value) for kind, value in values.items()]
        record(connection, annotator_named(connection, name or IMPORTED), IMPORTED, uuid.uuid4().hex, changes)


def comment_lines(given: Iterable[FactComment], names: NamesById = NO_NAMES) -> Iterator[str]:
    """Yield each comment as a JSON line, with the names of head and tail if they are known."""
    for fact, annotator, comment, is_wrong in given:
        about = {**_ids_and_names(fact, names), "by": annotator}
        yield json.dumps({**about, "is_wrong": is_wrong, "comment": comment}, ensure_ascii=False) + "\n"


def ids_of(facts: Iterable[Triple]) -> Iterator[str]:
    """Yield the ids of the facts' heads and tails."""
    return (name for fact in facts for name in (fact.head_id, fact.tail_id))


def _ids_and_names(fact: Triple, names: NamesById) -> dict[str, str]:
    ids = {"head": fact.head_id, "tail": fact.tail_id, "relation": fact.relation}
    return ids | {f"{side}_name": names[ids[side]] for side in ("head", "tail") if ids[side] in names}


def holds_comments(path: Path) -> bool:
    """Return whether a file contains comments rather than marks, based on its first line."""
    if path.is_dir():
        return False
    refuse_pipe(path, "annotations are")
    return has_keys(first_of(read_lines(path))[0], "is_wrong", "comment")


def read_comments(path: Path) -> Iterator[FactComment]:
    """Yield the comments in a file written by `comment_lines`; raise on a bad line."""
    return (comment for _, comment in parse_lines(path, "comments", _parse_comment))


def _parse_comment(text: str) -> FactComment:
    values = json_object(text)
    head_id, relation, tail_id = (string(values, key) for key in ("head", "relation", "tail"))
    is_wrong = values.get("is_wrong", False)
    if not isinstance(is_wrong, bool):
        raise BadLineError("'is_wrong' must be true or false")
    comment = string(values, "comment", "")
    return FactComment(Triple(head_id, relation, tail_id), string(values, "by", ""), comment, is_wrong)


def write_csv(path: Path, marks: Iterable[Mark], names: NamesById = NO_NAMES) -> int:
    """Write one row per mark, with names if any are known; return the number of marks left out (always 0)."""
    with atomic_file(path) as file:
        writer = csv.writer(file)
        writer.writerow((*COLUMNS, *NAME_COLUMNS) if names else COLUMNS)
        for mark in marks:
            named = (names.get(mark.head_id, ""), names.get(mark.tail_id, "")) if names else ()
            writer.writerow(map(shielded, (*mark, *named)))
    return 0


def read_csv(path: Path) -> Iterator[MarkItem]:
    """Yield each row's mark with its line number, or why it cannot be read."""
    rows = csv.reader(io.StringIO(read_text(path, "marks"), newline=""), strict=True)
    try:
        header = next(rows, [])
        if tuple(header) not in (COLUMNS, (*COLUMNS, *NAME_COLUMNS)):
            raise BadInputError(f"{path}:1: expected the header {','.join((*COLUMNS, *NAME_COLUMNS))}")
        for row in rows:
            yield rows.line_num, _mark(row, len(header))
    except csv.Error as error:
        raise BadInputError(f"{path}:{rows.line_num}: not CSV ({error})") from error


def _mark(row: list[str], num_columns: int) -> Mark | BadLine:
    if len(row) != num_columns:
        return BadLine(f"expected {num_columns} columns, got {len(row)}")
    try:
        return with_plain_names(Mark(*map(bare, row[: len(COLUMNS)])))
    except BadLineError as error:
        return BadLine(str(error))


def write_tuples(path: Path, marks: Iterable[Mark], names: NamesById = NO_NAMES) -> int:
    """Write every tuple of each fact as a JSON line; return the number of marks in no tuple.

    If several annotators have marked a sentence, the majority counts.
    """
    facts: dict[Triple, dict[str, list[str]]] = {}
    num_marks = 0
    for head_id, tail_id, relation, sentence, label, _ in marks:
        facts.setdefault(Triple(head_id, relation, tail_id), {}).setdefault(sentence, []).append(label)
        num_marks += 1
    num_used = 0
    with atomic_file(path) as file:
        for fact, sentences in facts.items():
            voted = {text: majority(labels) for text, labels in sentences.items()}
            sides = [[text for text, label in voted.items() if label == side] for side in (RATIONALE, IRRELEVANT)]
            if all(sides):
                num_used += sum(len(sentences[text]) for side in sides for text in side)
            for rationale in sides[0]:
                for irrelevant in sides[1]:
                    file.write(_tuple_line(fact, rationale, irrelevant, names))
    return num_marks - num_used


def read_tuples(path: Path) -> Iterator[MarkItem]:
    """Yield the two marks on each line; a sentence is repeated for each of its tuples."""
    return parse_each(read_lines(path), _parse_tuple)


def _parse_tuple(text: str) -> Iterator[Mark]:
    record = json_object(text)
    head_id, tail_id, relation = (string(record, key) for key in ("head", "tail", "relation"))
    for side in (RATIONALE, IRRELEVANT):
        yield with_plain_names(Mark(head_id, tail_id, relation, string(record, side), side))


def _tuple_line(fact: Triple, rationale: str, irrelevant: str, names: NamesById) -> str:
    record = _ids_and_names(fact, names)
    return json.dumps({**record, RATIONALE: rationale, IRRELEVANT: irrelevant}, ensure_ascii=False) + "\n"


class MarkFormat(NamedTuple):
    """A file format for marks; `write` takes a path, marks and the names of entities, and returns how many it left out.

    `why_empty` says why it may leave out all marks.
    """

    write: Callable[..., int]
    read: Callable[[Path], Iterator[MarkItem]]
    title: str
    suffix: str
    is_folder: bool = False
    why_empty: str = ""


def _write_lines(path: Path, marks: Iterable[Mark], names: NamesById = NO_NAMES) -> int:
    with atomic_file(path) as file:
        file.writelines(f"{write_mark(mark, names)}\n" for mark in marks)
    return 0


FORMS: dict[str, MarkFormat] = {
    "jsonl": MarkFormat(_write_lines, read_mark_lines, "JSON lines", ".jsonl"),
    "eraser": MarkFormat(
        # The format has no place for names.
        lambda path, marks, _names=None: write_eraser(path, marks),
        read_eraser,
        "ERASER JSON lines",
        "",
        is_folder=True,
        why_empty="all marks are unsure, which this format cannot represent",
    ),
    "csv": MarkFormat(write_csv, read_csv, "CSV", ".csv"),
    "tuples": MarkFormat(
        write_tuples,
        read_tuples,
        "expl-eval tuples",
        ".jsonl",
        why_empty="no fact has both a rationale and an irrelevant sentence",
    ),
}


def read_any(path: Path) -> list[Mark]:
    """Read a file of marks in any format, recognised by its name and first line; raise on bad lines."""
    if path.is_dir():
        path = path / ERASER_FILE
    refuse_pipe(path, "annotations are")
    marks, bad = [], []
    for number, item in holding(path, "marks", _form_of(path).read(path)):
        if isinstance(item, BadLine):
            bad.append(f"{path}:{number}: {item.reason}")
        elif item.label not in LABELS:
            bad.append(f"{path}:{number}: {item.label[:20]!r} is not a label; choose one of {', '.join(LABELS)}")
        else:
            marks.append(item)
    if bad:
        raise BadInputError("\n".join([*bad[:_NUM_SHOWN], f"{path}: {len(bad):,} bad lines; nothing was imported"]))
    return marks


def _form_of(path: Path) -> MarkFormat:
    if path.suffix == ".csv":
        return FORMS["csv"]
    first, _ = first_of(read_lines(path))
    if has_keys(first, "annotation_id"):
        return FORMS["eraser"]
    if has_keys(first, "rationale", "irrelevant"):
        return FORMS["tuples"]
    return FORMS["jsonl"]
