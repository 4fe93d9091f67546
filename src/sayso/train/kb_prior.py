"""How much the other facts of a knowledge base count against a new fact.

Most people are citizens of one country, so if the knowledge base already has a country for a person, another one is
less likely to be right; authors, by contrast, have many books. How much this matters depends on the relation, and is
learned from facts that were withheld:

    logit(p | text, knowledge base) = logit(p | text) + u_k [the subject has another object] + v_k [the object has
    another subject],  with u_k, v_k ≤ 0

Weights above 0 would reward facts for being about well-covered entities, which says little about their truth.
Shapes: B pairs, R relations, E entities, F folds.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from sayso.errors import BadInputError

_SPREAD = 1.0
"""Standard deviation of the weights' prior, around 0: relations with few facts keep small weights."""
_MOST = 10.0


class KbPrior(NamedTuple):
    """The weights u_k and v_k of each relation, at most 0."""

    object_R: np.ndarray
    subject_R: np.ndarray

    @classmethod
    def mean(cls, priors: Sequence["KbPrior"]) -> "KbPrior":
        """Return the mean weights of several runs."""
        return cls(*(np.mean(weights, axis=0) for weights in zip(*priors, strict=True)))

    def to_table(self) -> dict[str, list[float]]:
        """Return the weights as JSON values, which `from_table` reads."""
        return {"another_object": self.object_R.tolist(), "another_subject": self.subject_R.tolist()}

    @classmethod
    def from_table(cls, table: dict[str, list[float]], num_relations: int) -> "KbPrior":
        """Return stored weights; raise `BadInputError` if they are damaged."""
        prior = cls(*(np.array(table.get(name, []), np.float64) for name in ("another_object", "another_subject")))
        if any(len(weight_R) != num_relations or not (weight_R <= 0).all() for weight_R in prior):
            raise BadInputError(f"invalid kb_prior: expected two weights of at most 0 for {num_relations} relations")
        return prior

    def logits(self, logit_BR: np.ndarray, taken: "Taken") -> np.ndarray:
        """Return the logits, lowered by what the knowledge base already has."""
        lowered: np.ndarray = logit_BR + self.object_R * taken.object_BR + self.subject_R * taken.subject_BR
        return lowered


class Taken(NamedTuple):
    """Whether a pair's subject already has another object, and its object another subject, for each relation."""

    object_BR: np.ndarray
    subject_BR: np.ndarray

    def take(self, rows: np.ndarray) -> "Taken":
        """Return the rows of some pairs."""
        return Taken(self.object_BR[rows], self.subject_BR[rows])


def taken_outside_fold(pair_B2: np.ndarray, fold_B: np.ndarray, label_BR: np.ndarray) -> Taken:
    """Return what is taken according to the facts of all other folds, from which the fact itself is missing.

    `pair_B2` has the head and tail entity of each pair, `fold_B` its fold, from 0.
    """
    num_entities, num_folds = int(pair_B2.max(initial=-1)) + 1, int(fold_B.max(initial=-1)) + 1
    found = []
    for entity_B in pair_B2.T:
        count_FER = np.zeros((num_folds, num_entities, label_BR.shape[1]), np.int32)
        np.add.at(count_FER, (fold_B, entity_B), label_BR)
        found.append((count_FER.sum(0)[entity_B] - count_FER[fold_B, entity_B]) > 0)
    return Taken(*found)


def fit_kb_prior(logit_BR: np.ndarray, label_BR: np.ndarray, weight_B: np.ndarray, taken: Taken) -> KbPrior:
    """Return the weights that make withheld facts most probable among those of unlabelled pairs (penalised likelihood).

    Other relations of a pair with a fact are left out, as in `held_out_facts`.
    """
    is_unlabelled_B = ~label_BR.any(1)
    weights = []
    for relation, is_positive_B in enumerate(label_BR.T):
        rows = np.flatnonzero(is_positive_B | is_unlabelled_B)
        taken_P2 = np.stack([column[rows, relation] for column in taken], axis=1).astype(np.float64)
        weights.append(_fit(logit_BR[rows, relation], is_positive_B[rows], weight_B[rows], taken_P2))
    return KbPrior(*np.array(weights, np.float64).reshape(-1, 2).T)


def _fit(logit_P: np.ndarray, is_positive_P: np.ndarray, weight_P: np.ndarray, taken_P2: np.ndarray) -> np.ndarray:
    # Rows for which nothing is taken do not depend on the weights.
    some = taken_P2.any(1)
    logit_P, is_positive_P, weight_P, taken_P2 = (each[some] for each in (logit_P, is_positive_P, weight_P, taken_P2))

    def loss(weight_2: np.ndarray) -> tuple[float, np.ndarray]:
        mapped_P = logit_P + taken_P2 @ weight_2
        value = weight_P @ np.logaddexp(0.0, np.where(is_positive_P, -mapped_P, mapped_P))
        slope_P = weight_P * (1.0 / (1.0 + np.exp(-mapped_P)) - is_positive_P)
        return float(value + 0.5 * (weight_2 @ weight_2) / _SPREAD**2), slope_P @ taken_P2 + weight_2 / _SPREAD**2

    found: np.ndarray = minimize(loss, np.zeros(2), jac=True, bounds=[(-_MOST, 0.0)] * 2).x
    return found
