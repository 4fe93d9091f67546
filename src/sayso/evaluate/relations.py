"""How well facts are extracted: the figures of one model on one part of a store.

Shapes: B bags, R relations.
"""

from dataclasses import dataclass

import numpy as np

from sayso.metrics.precision_recall import (
    area_up_to_recall,
    average_precision,
    max_f1,
    precision_at,
    precision_recall_curve,
)


@dataclass(frozen=True, kw_only=True)
class RelationFigures:
    """Figures over all (bag, relation) scores, NA left out, tied scores as one step of the curve.

    `area_up_to_recall_0_4` is the paper's AUC: precision summed over recall up to 0.4, not divided by 0.4.
    """

    area_up_to_recall_0_4: float
    average_precision: float
    precision_at_100: float
    precision_at_200: float
    precision_at_300: float
    max_f1: float
    num_facts: int
    num_bags: int


def relation_figures(logit_BR: np.ndarray, label_BR: np.ndarray, num_facts_unread: int = 0) -> RelationFigures:
    """Return the figures; facts none of whose sentences could be read stay in the denominator of recall."""
    num_facts = int(label_BR.sum()) + num_facts_unread
    curve = precision_recall_curve(logit_BR.ravel(), label_BR.ravel(), num_facts)
    return RelationFigures(
        area_up_to_recall_0_4=area_up_to_recall(curve, 0.4),
        average_precision=average_precision(curve),
        precision_at_100=precision_at(curve, 100),
        precision_at_200=precision_at(curve, 200),
        precision_at_300=precision_at(curve, 300),
        max_f1=max_f1(curve),
        num_facts=num_facts,
        num_bags=len(label_BR),
    )
