"""Metrics of an extraction against facts known to be right: withheld from its knowledge base, or decided on by people.

Facts in the knowledge base are left out: their labels trained the model, so they say nothing about new facts.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from sayso.errors import BadInputError, option
from sayso.facts.fact import STATUSES, Status
from sayso.facts.file import read_extracted
from sayso.metrics.calibration import expected_calibration_error, reliability_curve
from sayso.metrics.interval import Interval, wilson_interval
from sayso.metrics.precision_recall import PrecisionRecallCurve, average_precision, precision_at, precision_recall_curve
from sayso.readers.tables import read_decisions, read_triples
from sayso.records import Triple

CUTOFFS = (20, 50, 100, 300)
_NOT_COMPARED = "not_compared"
NOT_KNOWN: tuple[Status, ...] = tuple(status for status in STATUSES if status != "known")


@dataclass(frozen=True, kw_only=True)
class Truth:
    """Facts known to be right, and those rejected as wrong; if `wrong` is None, all others count as wrong."""

    path: Path
    right: frozenset[Triple]
    wrong: frozenset[Triple] | None = None

    def label(self, fact: Triple) -> bool | None:
        """Return whether a fact is right, None if undecided."""
        if fact in self.right:
            return True
        return False if self.wrong is None or fact in self.wrong else None


def read_truth(path: Path) -> Truth:
    """Read a file of triples, in the format of the knowledge base, as the right facts."""
    # White space around ids is ignored, as in the knowledge base.
    right = (Triple(*(column.strip() for column in triple)) for triple in read_triples(path))
    return Truth(path=path, right=frozenset(right))


def read_decided(path: Path) -> Truth:
    """Read accepted facts as right and rejected ones as wrong; the last decision on a fact counts."""
    decisions = {each.fact: each.decision for each in read_decisions(path)}
    right = frozenset(fact for fact, decision in decisions.items() if decision == "accepted")
    return Truth(path=path, right=right, wrong=frozenset(decisions) - right)


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Precision, recall, average precision and calibration of scored facts; None if undefined.

    `num_true` is the denominator of recall: the right facts, extracted or not.
    """

    num_facts: int
    num_right: int
    num_true: int
    precision: float | None
    precision_interval: Interval | None
    recall: float | None
    recall_interval: Interval | None
    average_precision: float | None
    mean_probability: float | None
    expected_calibration_error: float | None


@dataclass(frozen=True, kw_only=True)
class TopFacts:
    """Right facts among the k most probable ones, or among all `num_facts` if there are fewer.

    Ties across rank k get their expected value in random order, so `num_right` may be fractional.
    """

    k: int
    num_facts: int
    num_right: float
    precision: float
    precision_interval: Interval | None


@dataclass(frozen=True, kw_only=True)
class ReliabilityBin:
    """The facts in one probability bin of width 0.1."""

    mean_probability: float
    share_right: float
    share_right_interval: Interval | None
    num_facts: int


@dataclass(frozen=True, kw_only=True)
class Score:
    """All metrics of an extraction; undecided facts and those with other statuses are counted but not scored."""

    overall: Figures
    precision_at: list[TopFacts]
    reliability: list[ReliabilityBin]
    per_relation: dict[str, Figures]
    num_scored: dict[str, int]
    num_left_out: dict[str, int]
    num_undecided: int

    def to_dict(self) -> dict[str, Any]:
        """Return the metrics as plain values: overall first, then the tables."""
        found = asdict(self)
        relations = [{"relation": name, **figures} for name, figures in found.pop("per_relation").items()]
        return {**found.pop("overall"), **found, "per_relation": relations}


class _Labelled(NamedTuple):
    probability: float
    is_right: bool


def score_extraction(path: Path, truth: Truth, only: Collection[Status] = NOT_KNOWN) -> Score:
    """Return the metrics of the facts written by `sayso extract`.

    Args:
        path: An extraction folder, or its facts.jsonl.
        truth: What is right and what is wrong; undecided facts are counted but not scored.
        only: The statuses of the facts to score.

    Raises:
        BadInputError: a line is not a fact, a fact is repeated, or no fact is left to score.
    """
    labelled, by_relation = list[_Labelled](), defaultdict[str, list[_Labelled]](list)
    num_scored, num_left_out = Counter[str](), Counter[str]()
    num_undecided, known, matched = 0, set[Triple](), set[Triple]()
    for fact in read_extracted(path):
        is_right = truth.label(fact.triple)
        if fact.status not in only:
            num_left_out[fact.status or _NOT_COMPARED] += 1
            if is_right and fact.status == "known":
                known.add(fact.triple)
        elif is_right is None:
            num_undecided += 1
        else:
            if fact.triple in matched:
                fault = f"the fact {' '.join(fact.triple)} is repeated; score one extraction at a time"
                raise BadInputError(f"{path}: {fault}")
            # Keep only facts in the ground truth: an extraction may be far larger.
            if is_right or truth.wrong is not None:
                matched.add(fact.triple)
            num_scored[fact.status or _NOT_COMPARED] += 1
            labelled.append(_Labelled(fact.probability, is_right))
            by_relation[fact.relation].append(labelled[-1])
    if not labelled:
        raise _nothing_to_score(path, truth, num_left_out, num_undecided)
    # A right fact in the knowledge base was not withheld, so it cannot be found among the new ones.
    num_true = Counter(fact.relation for fact in truth.right - known)
    curve = _curve(labelled, num_true.total())
    return Score(
        overall=_figures(labelled, num_true.total()),
        precision_at=[_top(curve, k) for k in CUTOFFS],
        reliability=_reliability(labelled),
        per_relation={name: _figures(by_relation[name], num_true[name]) for name in sorted({*by_relation, *num_true})},
        num_scored=dict(num_scored),
        num_left_out=dict(num_left_out),
        num_undecided=num_undecided,
    )


def _nothing_to_score(path: Path, truth: Truth, num_left_out: Counter[str], num_undecided: int) -> BadInputError:
    if num_undecided:
        num = len(truth.right) + len(truth.wrong or ())
        return BadInputError(f"{truth.path}: none of its {num:,} decisions is about a fact in {path}")
    counts = ", ".join(f"{num:,} {status.replace('_', ' ')}" for status, num in num_left_out.items())
    return BadInputError(f"{path}: no facts to score ({counts}); choose other statuses with {option('only')}")


def _curve(labelled: Sequence[_Labelled], num_true: int) -> PrecisionRecallCurve:
    return precision_recall_curve(
        [each.probability for each in labelled], [each.is_right for each in labelled], num_true
    )


def _figures(labelled: Sequence[_Labelled], num_true: int) -> Figures:
    num_facts, num_right = len(labelled), sum(each.is_right for each in labelled)
    probabilities = [each.probability for each in labelled]
    reliability = reliability_curve(probabilities, [each.is_right for each in labelled])
    return Figures(
        num_facts=num_facts,
        num_right=num_right,
        num_true=num_true,
        precision=num_right / num_facts if num_facts else None,
        precision_interval=wilson_interval(num_right, num_facts),
        recall=num_right / num_true if num_true else None,
        recall_interval=wilson_interval(num_right, num_true),
        average_precision=average_precision(_curve(labelled, num_true)) if num_true else None,
        mean_probability=fmean(probabilities) if probabilities else None,
        expected_calibration_error=expected_calibration_error(reliability),
    )


def _top(curve: PrecisionRecallCurve, k: int) -> TopFacts:
    num_facts = min(k, int(curve.num_retrieved[-1]))
    precision = precision_at(curve, k) if curve.num_positives else 0.0
    return TopFacts(
        k=k,
        num_facts=num_facts,
        num_right=precision * num_facts,
        precision=precision,
        precision_interval=wilson_interval(precision * num_facts, num_facts),
    )


def _reliability(labelled: Sequence[_Labelled]) -> list[ReliabilityBin]:
    curve = reliability_curve([each.probability for each in labelled], [each.is_right for each in labelled])
    columns = (curve.mean_probability.tolist(), curve.share_positive.tolist(), curve.num_facts.tolist())
    return [
        ReliabilityBin(
            mean_probability=mean,
            share_right=share,
            share_right_interval=wilson_interval(share * num, num),
            num_facts=num,
        )
        for mean, share, num in zip(*columns, strict=True)
    ]
