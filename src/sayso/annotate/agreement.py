"""How far people agree: percent, κ and α, overall, by relation and between each two people.

Only submitted facts count; what somebody has marked as practice, in a pilot round, does not.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from sayso.annotate.store import Connection
from sayso.metrics.agreement import cohen_kappa, krippendorff_alpha, percent_agreement
from sayso.records import Triple


class SubmittedMark(NamedTuple):
    """A label that somebody gave a sentence for a fact, and submitted."""

    fact: Triple
    sentence: str
    annotator: str
    label: str


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Agreement on one relation, or on all (an empty name); None where a figure is not defined.

    Units are sentences, each for one fact, that two people or more have marked. With more than two people, `percent`
    is the share of pairs of marks that agree, and κ the mean over pairs of people, weighed by the units they share.
    """

    relation: str
    num_facts: int
    num_units: int
    percent: float | None
    kappa: float | None
    alpha: float | None


@dataclass(frozen=True, kw_only=True)
class PairAgreement:
    """Agreement of two people."""

    first: str
    second: str
    num_units: int
    percent: float | None
    kappa: float | None


@dataclass(frozen=True, kw_only=True)
class AgreementReport:
    """Agreement overall, relation by relation, and between each two people who share units."""

    overall: Agreement
    relations: tuple[Agreement, ...]
    pairs: tuple[PairAgreement, ...]


def report(marks: Sequence[SubmittedMark]) -> AgreementReport:
    """Return the agreement of these marks."""
    relations = sorted({mark.fact.relation for mark in marks})
    overall, pairs = _measure("", marks)
    by_relation = (_measure(name, [mark for mark in marks if mark.fact.relation == name])[0] for name in relations)
    return AgreementReport(overall=overall, relations=tuple(by_relation), pairs=tuple(pairs))


def submitted_marks(connection: Connection) -> list[SubmittedMark]:
    """Return the marks of all submitted facts, in the order in which facts and sentences came up."""
    rows = connection.execute(
        "SELECT head_id, relation, tail_id, text, name, value FROM entry AS marked"
        " JOIN fact ON fact.id = marked.fact JOIN sentence ON sentence.id = marked.sentence"
        " JOIN annotator ON annotator.id = marked.owner WHERE kind = 'mark'"
        " AND EXISTS (SELECT 1 FROM finished WHERE finished.annotator = marked.owner AND finished.fact = marked.fact)"
        " ORDER BY marked.fact, marked.sentence, marked.owner"
    )
    return [SubmittedMark(Triple(*row[:3]), *row[3:]) for row in rows]


def _measure(relation: str, marks: Sequence[SubmittedMark]) -> tuple[Agreement, list[PairAgreement]]:
    people, units, label_of = _table(marks)
    rows = {name: [label_of.get((name, unit)) for unit in units] for name in people}
    pairs = list(_pairs(rows))
    num_U = [sum(row[unit] is not None for row in rows.values()) for unit in range(len(units))]
    shared = [unit for unit, num in zip(units, num_U, strict=True) if num > 1]
    return Agreement(
        relation=relation,
        num_facts=len({fact for fact, _ in shared}),
        num_units=len(shared),
        percent=_weighed([(pair.percent, pair.num_units) for pair in pairs]),
        kappa=_weighed([(pair.kappa, pair.num_units) for pair in pairs]),
        alpha=krippendorff_alpha(list(rows.values())) if rows else None,
    ), pairs


def _table(
    marks: Sequence[SubmittedMark],
) -> tuple[list[str], list[tuple[Triple, str]], dict[tuple[str, tuple[Triple, str]], str]]:
    people = sorted({mark.annotator for mark in marks})
    units = list(dict.fromkeys((mark.fact, mark.sentence) for mark in marks))
    return people, units, {(mark.annotator, (mark.fact, mark.sentence)): mark.label for mark in marks}


def _pairs(rows: dict[str, list[str | None]]) -> Iterator[PairAgreement]:
    for (first, ours), (second, theirs) in combinations(rows.items(), 2):
        num = sum(a is not None and b is not None for a, b in zip(ours, theirs, strict=True))
        if num:
            percent, kappa = percent_agreement(ours, theirs), cohen_kappa(ours, theirs)
            yield PairAgreement(first=first, second=second, num_units=num, percent=percent, kappa=kappa)


def _weighed(figures: Sequence[tuple[float | None, int]]) -> float | None:
    defined = [(value, weight) for value, weight in figures if value is not None]
    if not defined:
        return None
    values, weights = zip(*defined, strict=True)
    return float(np.average(values, weights=weights))
