"""Marks out of the database and into it: what the files of all forms are made from."""

import uuid
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from sayso.annotate.agreement import submitted_marks
from sayso.annotate.assignment import claim
from sayso.annotate.disagreement import settled_labels
from sayso.annotate.fact_work import MARK, SUBMITTED, YES, fact_number, sentence_number
from sayso.annotate.log import WHOLE_FACT, Change, record
from sayso.annotate.majority import majority
from sayso.annotate.people import KNOWN, annotator_named
from sayso.annotate.store import Connection
from sayso.records import Mark, Triple

IMPORTED = "import"
"""Who has marked what a file does not name anybody for; also the scope of steps that importing takes."""


class Imported(NamedTuple):
    """How many marks came in, by how many people, on how many facts."""

    num_marks: int
    num_annotators: int
    num_facts: int


def each_mark(connection: Connection, facts: Collection[Triple] | None = None) -> Iterator[Mark]:
    """Yield every submitted mark of everybody, the pilot round apart, on all facts or on these."""
    for fact, sentence, annotator, label in submitted_marks(connection):
        if facts is None or fact in facts:
            yield Mark(fact.head_id, fact.tail_id, fact.relation, sentence, label, annotator)


def settled_marks(connection: Connection, facts: Collection[Triple] | None = None) -> Iterator[Mark]:
    """Yield one mark a sentence: what was settled, or else what the majority says; nobody's name is on it."""
    settled = settled_labels(connection)
    labels: dict[tuple[Triple, str], list[str]] = {}
    for mark in submitted_marks(connection):
        if facts is not None and mark.fact not in facts:
            continue
        labels.setdefault((mark.fact, mark.sentence), []).append(mark.label)
    for (fact, sentence), given in labels.items():
        agreed = settled.get((fact, sentence))
        label = agreed.label if agreed else majority(given)
        yield Mark(fact.head_id, fact.tail_id, fact.relation, sentence, label)


def save_marks(connection: Connection, marks: Iterable[Mark], is_known: bool = False) -> Imported:
    """Save marks as submitted marks of the people they name, or as the known answers for a pilot round.

    A mark that somebody has made on the same sentence before is replaced; the log keeps it.
    """
    by_person: dict[str, list[Mark]] = {}
    for mark in marks:
        by_person.setdefault(mark.annotator or IMPORTED, []).append(mark)
    for name, theirs in by_person.items():
        _take(connection, name, theirs, is_known)
    everything = [each for theirs in by_person.values() for each in theirs]
    facts = {(each.head_id, each.relation, each.tail_id) for each in everything}
    return Imported(len(everything), len(by_person), len(facts))


def _take(connection: Connection, name: str, marks: list[Mark], is_known: bool) -> None:
    annotator = annotator_named(connection, name)
    changes: dict[tuple[int, int, str], Change] = {}
    facts = {Triple(each.head_id, each.relation, each.tail_id): 0 for each in marks}
    for fact in facts:
        facts[fact] = fact_number(connection, fact)
    for each in marks:
        number = facts[Triple(each.head_id, each.relation, each.tail_id)]
        change = Change(number, sentence_number(connection, each.sentence), MARK, each.label)
        changes[change[:3]] = change  # of two marks on the same sentence the later holds
    if not is_known:
        for fact, number in facts.items():
            claim(connection, annotator, fact, None)
            changes[number, WHOLE_FACT, SUBMITTED] = Change(number, WHOLE_FACT, SUBMITTED, YES)
    record(connection, annotator, IMPORTED, uuid.uuid4().hex, changes.values(), KNOWN if is_known else None)
