"""How many true facts the knowledge base lacks per fact it has: assumed, or from decisions on new facts.

Shapes: Q held-out facts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression

from sayso.readers.tables import FactDecision
from sayso.seeding import sub_seed
from sayso.train.held_out import HeldOutFacts, pair_key

LEAST_DECISIONS = 20
KB_COMPLETENESS = 0.5
"""The share of the true facts that a knowledge base is assumed to have by default: as many are missing as are known."""
SLACK = 0.025
"""Intervals allow for an assumed share that is too high or too low by up to this much."""


class Assumption(NamedTuple):
    """How many true facts are missing per known fact, and where the number comes from."""

    missing_per_known: float
    text: str
    decided: np.ndarray
    """For each decision that was used: the odds that its fact is known rather than new, and whether it was accepted."""

    def resampled(self, num_resamples: int, seed: int = 0) -> Iterator[float]:
        """Yield the number of missing facts per known fact for each resample.

        It follows from a share near the assumed one, drawn uniformly, or from decisions drawn with replacement.
        """
        rng = np.random.default_rng(sub_seed(seed, "decisions"))
        assumed_share = 1.0 / (1.0 + self.missing_per_known)
        for _ in range(num_resamples):
            if not len(self.decided):
                share = float(np.clip(assumed_share + rng.uniform(-SLACK, SLACK), 0.01, 0.99))
                yield (1.0 - share) / share
            else:
                yield _missing_per_known(self.decided[rng.integers(len(self.decided), size=len(self.decided))])


def assumed(kb_completeness: float) -> Assumption:
    """Return the assumption that the knowledge base has this fraction of the true facts."""
    return Assumption(
        (1 - kb_completeness) / kb_completeness,
        f"assuming that the knowledge base has {kb_completeness:.0%} (± {SLACK:.1%}) of the true facts that the corpus"
        " names, and that the missing ones are as easy to find as those it has (--kb-completeness)",
        np.zeros((0, 2)),
    )


def from_decisions(
    decisions: Iterable[FactDecision], facts: HeldOutFacts, relations: Sequence[str], kb_completeness: float
) -> Assumption:
    """Return how many true facts are missing according to decisions on a random sample of new facts.

    With fewer than 20 decisions on facts of unlabelled pairs, return the assumption about the knowledge base.
    """
    is_new_Q = ~facts.is_known_Q
    keys = zip(facts.pair_Q[is_new_Q].tolist(), facts.relation_Q[is_new_Q].tolist(), strict=True)
    odds_by_fact: Mapping[tuple[int, int], float] = dict(zip(keys, _known_odds(facts)[is_new_Q].tolist(), strict=True))
    numbers = {name: number for number, name in enumerate(relations)}
    decided = {}
    for (head_id, relation, tail_id), decision, *_ in decisions:
        key = pair_key(head_id, tail_id), numbers.get(relation, -1)
        if key in odds_by_fact:
            decided[key] = odds_by_fact[key], float(decision == "accepted")
    used = np.array(list(decided.values())).reshape(-1, 2)
    if len(used) < LEAST_DECISIONS:
        fallback = assumed(kb_completeness)
        why = f"only {len(used)} decisions on new facts of this corpus (at least {LEAST_DECISIONS} are needed)"
        return fallback._replace(text=f"{why}; {fallback.text}")
    text = (
        f"from {len(used)} decisions on new facts, {int(used[:, 1].sum())} of them accepted (they must be a random"
        " sample of the extracted facts)"
    )
    return Assumption(_missing_per_known(used), text, used)


def _known_odds(facts: HeldOutFacts) -> np.ndarray:
    """Return the odds that a fact with this probability is a withheld one rather than one of an unlabelled pair.

    They are fitted by isotonic regression: among the most probable facts the odds stop growing, because the
    unlabelled ones there are mostly true facts that the knowledge base lacks.
    """
    order = np.argsort(facts.probability_Q, kind="stable")
    share_Q = np.empty(len(order))
    share_Q[order] = isotonic_regression(facts.is_known_Q[order].astype(np.float64), weights=facts.weight_Q[order]).x
    odds: np.ndarray = share_Q / np.maximum(1.0 - share_Q, 1e-9)
    return odds


def _missing_per_known(decided: np.ndarray) -> float:
    """Return the ρ for which the expected number of true facts among the decided ones is the number accepted."""
    odds, num_true = decided[:, 0], decided[:, 1].sum()
    # Half a decision on each side keeps ρ finite if all or none are accepted.
    wanted = (num_true + 0.5) / (len(odds) + 1) * len(odds)
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        is_enough = np.minimum(1.0, np.exp(middle) * odds).sum() >= wanted
        low, high = (low, middle) if is_enough else (middle, high)
    return float(np.exp(high))
