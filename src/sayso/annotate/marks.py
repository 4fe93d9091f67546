"""Export and import of marks, comments and reports of wrong facts."""

import json
import uuid
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from sayso.annotate.agreement import settled_labels, submitted_marks
from sayso.annotate.assignment import claim
from sayso.annotate.log import IS_FINISHED, WHOLE_FACT, Change, entries, record
from sayso.annotate.marking import COMMENT, MARK, SUBMITTED, WRONG, YES
from sayso.annotate.people import KNOWN, annotator_named
from sayso.annotate.store import Connection
from sayso.errors import BadInputError
from sayso.input_file import holding, refuse_pipe
from sayso.metrics.agreement import majority
from sayso.readers.base import BadLine, BadLineError
from sayso.readers.files import first_of, is_not_blank, read_lines
from sayso.readers.json_line import has_keys, json_object, string
from sayso.records import Mark, Triple

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


def comment_lines(given: Iterable[FactComment]) -> Iterator[str]:
    """Yield each comment as a JSON line."""
    for fact, annotator, comment, is_wrong in given:
        about = {"head": fact.head_id, "tail": fact.tail_id, "relation": fact.relation, "by": annotator}
        yield json.dumps({**about, "is_wrong": is_wrong, "comment": comment}, ensure_ascii=False) + "\n"


def holds_comments(path: Path) -> bool:
    """Return whether a file contains comments rather than marks, based on its first line."""
    if path.is_dir():
        return False
    refuse_pipe(path, "annotations are")
    return has_keys(first_of(read_lines(path))[0], "is_wrong", "comment")


def read_comments(path: Path) -> Iterator[FactComment]:
    """Yield the comments in a file written by `comment_lines`; raise on a bad line."""
    for number, text in holding(path, "comments", filter(is_not_blank, read_lines(path))):
        try:
            if isinstance(text, BadLine):
                raise BadLineError(text.reason)
            yield _parse(text)
        except BadLineError as error:
            raise BadInputError(f"{path}:{number}: {error}") from None


def _parse(text: str) -> FactComment:
    values = json_object(text)
    head_id, relation, tail_id = (string(values, key) for key in ("head", "relation", "tail"))
    is_wrong = values.get("is_wrong", False)
    if not isinstance(is_wrong, bool):
        raise BadLineError("'is_wrong' must be true or false")
    comment = string(values, "comment", "")
    return FactComment(Triple(head_id, relation, tail_id), string(values, "by", ""), comment, is_wrong)
