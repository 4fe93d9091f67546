"""Agreement between annotators (percent, κ, α), and settling their disagreements.

Only submitted facts count, and practice in a pilot round does not. Marks become visible to others once a fact is
closed: the required number of annotators have submitted it, and it will not be assigned to anyone else.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby

import numpy as np

from sayso.annotate.log import IS_FINISHED, Change, entries, record
from sayso.annotate.marking import LABELS, MARK
from sayso.annotate.people import AGREED, Annotator
from sayso.annotate.queue import read_settings
from sayso.annotate.store import Connection
from sayso.errors import UserError
from sayso.metrics.agreement import cohen_kappa, krippendorff_alpha, percent_agreement
from sayso.records import Mark, Triple


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Agreement on one relation, or on all if the name is empty; undefined metrics are None.

    A unit is a sentence, for one fact, that at least two annotators have marked. With more than two annotators,
    `percent` is the fraction of pairs of marks that agree, and κ is the mean over pairs of annotators, weighted by the
    units they share.
    """

    relation: str
    num_facts: int
    num_units: int
    percent: float | None
    kappa: float | None
    alpha: float | None


Confusion = tuple[tuple[int, ...], ...]
"""Counts of units by the labels of two marks, in the order of `LABELS`: rows for one mark, columns for the other."""


@dataclass(frozen=True, kw_only=True)
class PairAgreement:
    """Agreement between two annotators; the rows of `confusion` are the first one's labels."""

    first: str
    second: str
    num_units: int
    percent: float | None
    kappa: float | None
    confusion: Confusion


@dataclass(frozen=True, kw_only=True)
class AgreementReport:
    """Agreement overall, per relation, and per pair of annotators who share units.

    `confusion` counts all pairs of marks, in either order: it is symmetric.
    """

    overall: Agreement
    relations: tuple[Agreement, ...]
    pairs: tuple[PairAgreement, ...]
    confusion: Confusion


def report(marks: Sequence[Mark]) -> AgreementReport:
    """Compute the agreement of submitted marks."""
    relations = sorted({mark.fact.relation for mark in marks})
    overall, pairs = _measure("", marks)
    by_relation = (_measure(name, [mark for mark in marks if mark.fact.relation == name])[0] for name in relations)
    counts = np.sum([pair.confusion for pair in pairs], axis=0) if pairs else np.zeros((len(LABELS),) * 2, int)
    both = counts + counts.T - np.diag(np.diag(counts))
    return AgreementReport(
        overall=overall, relations=tuple(by_relation), pairs=tuple(pairs), confusion=tuple(map(tuple, both.tolist()))
    )


def submitted_marks(connection: Connection) -> list[Mark]:
    """Return the marks on all submitted facts, ordered by fact and sentence."""
    found = entries(connection, f"kind = ? AND {IS_FINISHED}", MARK)
    return [
        Mark(fact.head_id, fact.tail_id, fact.relation, sentence, label, name)
        for fact, sentence, _, label, name, _ in found
    ]


def _measure(relation: str, marks: Sequence[Mark]) -> tuple[Agreement, list[PairAgreement]]:
    units = Counter((mark.fact, mark.sentence) for mark in marks)
    label_of = {(mark.annotator, mark.fact, mark.sentence): mark.label for mark in marks}
    people = sorted({mark.annotator for mark in marks})
    rows = {name: [label_of.get((name, *unit)) for unit in units] for name in people}
    pairs = list(_pairs(rows))
    shared = [unit for unit, num in units.items() if num > 1]
    return Agreement(
        relation=relation,
        num_facts=len({fact for fact, _ in shared}),
        num_units=len(shared),
        percent=_weighed([(pair.percent, pair.num_units) for pair in pairs]),
        kappa=_weighed([(pair.kappa, pair.num_units) for pair in pairs]),
        alpha=krippendorff_alpha(list(rows.values())) if rows else None,
    ), pairs


def _pairs(rows: dict[str, list[str | None]]) -> Iterator[PairAgreement]:
    for (first, ours), (second, theirs) in combinations(rows.items(), 2):
        num = sum(a is not None and b is not None for a, b in zip(ours, theirs, strict=True))
        if num:
            counts = Counter(zip(ours, theirs, strict=True))
            yield PairAgreement(
                first=first,
                second=second,
                num_units=num,
                percent=percent_agreement(ours, theirs),
                kappa=cohen_kappa(ours, theirs),
                confusion=tuple(tuple(counts[a, b] for b in LABELS) for a in LABELS),
            )


def _weighed(weighted: Sequence[tuple[float | None, int]]) -> float | None:
    defined = [(value, weight) for value, weight in weighted if value is not None]
    if not defined:
        return None
    values, weights = zip(*defined, strict=True)
    return float(np.average(values, weights=weights))


SCOPE = "agree"
NOTE = "note"
"""The kind of entries with a note on a settled sentence."""


@dataclass(frozen=True, kw_only=True)
class Disagreement:
    """A sentence of a closed fact that annotators have marked differently.

    `labels` are (annotator, label) pairs; `settled` and `settled_by` are empty until someone settles it. `note` says
    why, empty for none.
    """

    sentence: str
    labels: tuple[tuple[str, str], ...]
    settled: str
    settled_by: str
    note: str = ""


def closed_facts(connection: Connection) -> set[Triple]:
    """Return the facts that enough annotators have submitted, not counting practice.

    The required number is the quota of the fact's assignments or, if it has none (imported marks), the queue's setting.
    """
    rows = connection.execute(
        "SELECT head_id, relation, tail_id FROM finished JOIN fact ON fact.id = finished.fact GROUP BY finished.fact"
        " HAVING count(*) >= coalesce((SELECT max(quota) FROM claim WHERE claim.fact = finished.fact), ?)",
        (read_settings(connection).annotators_per_fact,),
    )
    return {Triple(*row) for row in rows}


def why_no_marks(connection: Connection) -> str:
    """Return why no fact's marks can be exported; empty if some can."""
    if closed_facts(connection):
        return ""
    num = connection.execute("SELECT count(DISTINCT fact) FROM finished").fetchone()[0]
    if not num:
        return "no fact has been submitted yet"
    waiting = "the only submitted fact is" if num == 1 else f"all {num:,} submitted facts are"
    per_fact = read_settings(connection).annotators_per_fact
    return f"{waiting} still waiting for other annotators ({per_fact} per fact)"


def disagreements(connection: Connection) -> dict[Triple, list[Disagreement]]:
    """Return the sentences of closed facts that annotators have marked differently, grouped by fact."""
    closed, settled = closed_facts(connection), settled_labels(connection)
    noted = entries(connection, "entry.owner = ? AND kind = ?", AGREED, NOTE)
    notes = {(each.fact, each.sentence): each.value for each in noted}
    marks = (mark for mark in submitted_marks(connection) if mark.fact in closed)
    found: dict[Triple, list[Disagreement]] = {}
    for (fact, text), theirs in groupby(marks, key=lambda mark: (mark.fact, mark.sentence)):
        labels = tuple((mark.annotator, mark.label) for mark in theirs)
        if len({label for _, label in labels}) > 1:
            label, by = settled.get((fact, text), ("", ""))
            note = notes.get((fact, text), "")
            disputed = Disagreement(sentence=text, labels=labels, settled=label, settled_by=by, note=note)
            found.setdefault(fact, []).append(disputed)
    return found


def settled_labels(connection: Connection) -> dict[tuple[Triple, str], tuple[str, str]]:
    """Return (label, annotator who settled it), by fact and sentence."""
    found = entries(connection, "entry.owner = ? AND kind = ?", AGREED, MARK)
    return {(each.fact, each.sentence): (each.value, each.set_by) for each in found}


def settle(
    connection: Connection,
    actor: Annotator,
    fact: Triple,
    sentence: str,
    label: str,
    key: str,
    note: str | None = None,
) -> None:
    """Settle a disagreement with this label, and a note unless it is None; an empty label reopens it."""
    if label not in (*LABELS, ""):
        raise UserError(f"{label!r} is not a label; choose one of {', '.join(LABELS)}")
    changes = [Change(fact, sentence, MARK, label)]
    if note is not None:
        changes.append(Change(fact, sentence, NOTE, note.strip()))
    record(connection, actor, SCOPE, key, changes, owner=AGREED)
