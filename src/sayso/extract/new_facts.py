"""Chooses a threshold per relation for a requested precision of *new* facts, which the knowledge base does not have.

In a run with folds, each fact was withheld once, and a model trained without it searched for it among all unlabelled
pairs. At a threshold t, a share r(t) of the withheld facts is found again, and n(t) facts of unlabelled pairs are
found, which would be the new ones. If the knowledge base has a share c of the true facts, and the missing ones are like
the known ones, then K known facts mean ρ K missing ones with ρ = (1 − c) / c, so the expected precision of new facts is
ρ K r(t) / n(t), at most 1. With decisions on a random sample of new facts, ρ is estimated instead.

The interval is a bootstrap over folds and the withheld pairs in them; n is counted, and ρ allows for a small error.
Shapes: Q held-out facts, R relations.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sayso.errors import UserError, option
from sayso.extract.missing import KB_COMPLETENESS, Assumption, assumed, from_decisions
from sayso.facts.file import WITHHELD
from sayso.metrics.interval import Interval
from sayso.model.ensemble import load_parts
from sayso.readers.tables import read_decisions
from sayso.seeding import sub_seed
from sayso.train.held_out import HeldOutFacts, read_held_out

LEAST_FACTS = 20
"""A relation with fewer facts gets the common threshold; with fewer facts found again, there is no estimate."""
NEVER = 2.0
"""The threshold of a relation whose facts do not reach the requested precision at any probability."""
NUM_RESAMPLES = 500
LEVEL = 0.9
MOST_WIDTH = 0.3
"""Maximum width of the interval: if few facts are found again, lower thresholds are chosen, at lower precision."""
_NUM_FOUND = (0.0, 150.0, 250.0, 400.0, 650.0)
"""Numbers of withheld facts to find again at precision 1 (fewer at lower ones), tried until the interval is narrow."""
_PRIOR_FACTS = 20.0
"""This many new facts at the precision of all relations are added to each relation's, against noise."""


@dataclass(frozen=True, kw_only=True)
class RelationThreshold:
    """The threshold of a relation, and the expected precision of its new facts; None if there is no estimate."""

    relation: str
    num_facts: int
    threshold: float | None
    precision: float | None
    num_new: float

    @property
    def text(self) -> str:
        """The threshold and the expected precision, as human-readable text."""
        if self.threshold is None:
            return "no threshold reaches this precision: no facts"
        if self.num_facts < LEAST_FACTS:
            return f"common threshold {self.threshold:.3f}: too few known facts ({self.num_facts})"
        expected = "–" if self.precision is None else f"{self.precision:.2f}"
        return f"threshold {self.threshold:.3f}, expected precision {expected}, about {self.num_new:,.0f} new facts"


@dataclass(frozen=True, kw_only=True)
class NewFactThresholds:
    """A threshold per relation, and the expected precision of the new facts at or above them.

    `precision` and its 90 % interval are over all relations, corrected for having chosen the thresholds on the same
    facts; `recall` is the fraction of the withheld facts that are found again. If no threshold has the requested
    precision but the interval contains it, the thresholds are the most precise ones, and `is_reached` is false.
    `threshold` is the common one.
    """

    wanted_precision: float
    is_reached: bool
    threshold: float
    relations: Sequence[RelationThreshold]
    precision: float
    interval: Interval
    recall: float
    num_new: float
    num_facts: int
    num_folds: int
    assumption: str

    @property
    def thresholds(self) -> dict[str, float]:
        """The threshold of each relation; `NEVER` if it has none."""
        return {each.relation: NEVER if each.threshold is None else each.threshold for each in self.relations}

    @property
    def text(self) -> str:
        """The expected precision and recall, as human-readable text."""
        low, high = self.interval
        best = "" if self.is_reached else f"no threshold reaches {self.wanted_precision:g}, so these are the best; "
        return (
            f"{best}new facts: expect a precision of {self.precision:.2f} (90 %: {low:.2f} to {high:.2f}) among about"
            f" {self.num_new:,.0f} new facts; of {self.num_facts:,} known facts, withheld in {self.num_folds} folds,"
            f" {self.recall:.0%} are found again"
        )

    @property
    def limits(self) -> str:
        """The assumption, as human-readable text."""
        return self.assumption

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, with what they were measured on."""
        rows = [{**vars(each), "promise": each.text} for each in self.relations]
        plain = {**vars(self), "interval": list(self.interval), "relations": rows}
        return {**plain, "measured_on": WITHHELD, "limits": self.limits}


def thresholds_of_run(
    run: Path, wanted: float, kb_completeness: float | None, decisions: Sequence[Path] = (), is_strict: bool = True
) -> NewFactThresholds | None:
    """Choose thresholds for this precision, as `choose_for_new_facts` does; None if the run has no folds."""
    facts = read_held_out(run)
    if facts is None:
        return None
    relations = [relation.name for relation in load_parts(run).relations]
    completeness = KB_COMPLETENESS if kb_completeness is None else kb_completeness
    assumption = assumed(completeness)
    if decisions:
        decided = (each for path in decisions for each in read_decisions(path))
        assumption = from_decisions(decided, facts, relations, completeness)
    return choose_for_new_facts(facts, relations, wanted, assumption, is_strict)


def choose_for_new_facts(
    facts: HeldOutFacts, relations: Sequence[str], wanted: float, assumption: Assumption, is_strict: bool = True
) -> NewFactThresholds:
    """Choose the lowest thresholds with this precision; if none have it, the best, or `UserError` if `is_strict`."""
    if facts.is_known_Q.sum() < LEAST_FACTS:
        raise UserError(
            f"too few facts to estimate a precision: {int(facts.is_known_Q.sum())} were withheld (at least"
            f" {LEAST_FACTS} are needed): set a {option('threshold')}"
        )
    estimate = _Estimate(facts, len(relations), wanted, assumption.missing_per_known)
    chosen, (precision, optimism, interval) = estimate.certain_enough(assumption)
    if is_strict and interval.high < wanted:
        raise UserError(
            f"no threshold has an expected precision of {wanted:g} for new facts; the best is {precision:.2f} (90 %:"
            f" {interval.low:.2f} to {interval.high:.2f}), {assumption.text}: request a lower precision, or set"
            f" a {option('threshold')}"
        )
    num_facts_R = np.bincount(facts.relation_Q[facts.is_known_Q], minlength=len(relations))
    found_R, new_R = estimate.counts(chosen.threshold_R, estimate.once)
    rows = []
    for number, name in enumerate(relations):
        has_threshold = bool(chosen.threshold_R[number] < NEVER)
        is_promised = has_threshold and num_facts_R[number] >= LEAST_FACTS and new_R[number] > 0
        expected = assumption.missing_per_known * found_R[number] / max(new_R[number], 1e-9) - optimism
        rows.append(
            RelationThreshold(
                relation=name,
                num_facts=int(num_facts_R[number]),
                threshold=float(chosen.threshold_R[number]) if has_threshold else None,
                precision=float(np.clip(expected, 0.0, 1.0)) if is_promised else None,
                num_new=float(new_R[number]),
            )
        )
    return NewFactThresholds(
        wanted_precision=wanted,
        is_reached=chosen.reached >= wanted,
        threshold=min(chosen.pooled, 1.0),
        relations=rows,
        precision=precision,
        interval=interval,
        recall=float(found_R.sum() / max(num_facts_R.sum(), 1)),
        num_new=float(new_R.sum()),
        num_facts=int(num_facts_R.sum()),
        num_folds=len(np.unique(facts.fold_Q)),
        assumption=assumption.text,
    )


class _Thresholds(NamedTuple):
    """The threshold of each relation, the common threshold, and the precision they were chosen for."""

    threshold_R: np.ndarray
    pooled: float
    reached: float


class _Expected(NamedTuple):
    """The expected precision, its interval, and the optimism subtracted for choosing thresholds on the same facts."""

    precision: float
    optimism: float
    interval: Interval

    @property
    def width(self) -> float:
        """The width of the interval."""
        return self.interval.high - self.interval.low


class _Estimate:
    """The expected precision of new facts at any threshold; withheld facts may be resampled."""

    def __init__(self, facts: HeldOutFacts, num_relations: int, wanted: float, missing_per_known: float) -> None:
        order = np.argsort(-facts.probability_Q, kind="stable")
        self.facts = HeldOutFacts(*(column[order] for column in facts))
        self.num_relations, self.wanted, self.rho = num_relations, wanted, missing_per_known
        self.num_found = _NUM_FOUND[0]
        self.once = np.ones(len(order))
        self.known_Q = self.facts.is_known_Q.astype(np.float64)
        self.new_Q = np.where(self.facts.is_known_Q, 0.0, self.facts.weight_Q)
        self.rows = [np.flatnonzero(self.facts.relation_Q == number) for number in range(num_relations)]
        num_known_R = np.bincount(self.facts.relation_Q, self.known_Q, num_relations)
        self.own = np.flatnonzero(num_known_R >= LEAST_FACTS).tolist()

    def choose(self, times_Q: np.ndarray) -> _Thresholds:
        """Return the lowest thresholds with the requested precision, or else the most precise common one.

        `times_Q` is how often each held-out fact counts.
        """
        probability_Q, known_Q, new_Q = self.facts.probability_Q, times_Q * self.known_Q, times_Q * self.new_Q
        found_Q = np.cumsum(known_Q)
        pooled_Q = _precision(self.rho * found_Q, np.cumsum(new_Q))
        # Where few facts are found again, the precision cannot be estimated.
        pooled_Q = np.where(found_Q >= np.maximum(LEAST_FACTS, self.num_found * pooled_Q**2), pooled_Q, 0.0)
        reached = min(self.wanted, float(pooled_Q.max(initial=0.0)))
        pooled = _lowest(probability_Q, pooled_Q, reached)
        threshold_R = np.full(self.num_relations, pooled)
        first_Q = np.maximum.accumulate(pooled_Q[::-1])[::-1]
        for number in self.own:
            rows = self.rows[number]
            found, new = np.cumsum(known_Q[rows]), np.cumsum(new_Q[rows])
            shrunk = _precision(self.rho * found + _PRIOR_FACTS * first_Q[rows], new + _PRIOR_FACTS)
            threshold_R[number] = _lowest(probability_Q[rows], shrunk, reached)
        return _Thresholds(threshold_R, pooled, reached)

    def certain_enough(self, assumption: Assumption) -> "tuple[_Thresholds, _Expected]":
        """Return the thresholds and their expected precision, with an interval that is narrow enough, if possible."""
        found = []
        # With few facts, requiring half of them would leave no precise threshold; the interval is wide instead.
        most = 0.5 * self.known_Q.sum() / self.wanted**2
        for self.num_found in (num for num in _NUM_FOUND if num <= most):
            chosen = self.choose(self.once)
            found.append((chosen, self.resampled(chosen, assumption)))
            if found[-1][1].width <= MOST_WIDTH:
                return found[-1]
        return min(found, key=lambda each: each[1].width)

    def counts(self, threshold_R: np.ndarray, times_Q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how many withheld facts and how many new facts of each relation reach its threshold."""
        facts = self.facts
        reaches_Q = times_Q * (facts.probability_Q >= threshold_R[facts.relation_Q])
        found_R = np.bincount(facts.relation_Q, reaches_Q * self.known_Q, self.num_relations)
        return found_R, np.bincount(facts.relation_Q, reaches_Q * self.new_Q, self.num_relations)

    def precision(self, threshold_R: np.ndarray, times_Q: np.ndarray, rho: float) -> float:
        """Return the expected precision of new facts of all relations; 1 if there are none."""
        found_R, new_R = self.counts(threshold_R, times_Q)
        return min(1.0, rho * float(found_R.sum() / new_R.sum())) if new_R.sum() else 1.0

    def resampled(self, chosen: _Thresholds, assumption: Assumption) -> "_Expected":
        """Return the expected precision at these thresholds."""
        values, optimism = [], []
        resamples = resampled_facts(self.facts, NUM_RESAMPLES)
        for times_Q, rho in zip(resamples, assumption.resampled(NUM_RESAMPLES), strict=True):
            again_R = self.choose(times_Q).threshold_R
            values.append(self.precision(chosen.threshold_R, times_Q, rho))
            optimism.append(self.precision(again_R, times_Q, self.rho) - self.precision(again_R, self.once, self.rho))
        too_high = max(0.0, float(np.mean(optimism)))
        low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]) - too_high
        value = self.precision(chosen.threshold_R, self.once, self.rho) - too_high
        return _Expected(max(0.0, value), too_high, Interval(max(0.0, float(low)), max(0.0, float(high))))


def _precision(found: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return found / new, at most 1; 1 where nothing new is found."""
    precision: np.ndarray = np.minimum(1.0, found / np.maximum(new, 1e-12))
    return np.where(new > 0, precision, np.where(found > 0, 1.0, 0.0))


def _lowest(probability: np.ndarray, precision: np.ndarray, wanted: float) -> float:
    """Return the lowest probability with the requested precision; both are in descending order of probability."""
    is_last = np.append(probability[1:] != probability[:-1], True)[: len(probability)]
    reached = np.flatnonzero(is_last & (precision >= wanted))
    return float(probability[reached[-1]]) if len(reached) else NEVER


def resampled_facts(facts: HeldOutFacts, num_resamples: int, seed: int = 0) -> Iterator[np.ndarray]:
    """Yield how often each fact counts in each resample: folds are drawn, then withheld pairs within these folds."""
    rng = np.random.default_rng(sub_seed(seed, "withheld facts"))
    folds = np.unique(facts.fold_Q)
    known = [np.flatnonzero((facts.fold_Q == fold) & facts.is_known_Q) for fold in folds]
    new = [np.flatnonzero((facts.fold_Q == fold) & ~facts.is_known_Q) for fold in folds]
    pairs = [np.unique(facts.pair_Q[rows], return_inverse=True)[1].ravel() for rows in known]
    for _ in range(num_resamples):
        times_Q = np.zeros(len(facts.pair_Q))
        for fold in rng.integers(len(folds), size=len(folds)).tolist():
            num = int(pairs[fold].max(initial=-1)) + 1
            drawn = np.bincount(rng.integers(max(num, 1), size=num), minlength=num)
            times_Q[known[fold]] += drawn[pairs[fold]]
            times_Q[new[fold]] += 1
        yield times_Q
