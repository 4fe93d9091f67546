"""Agreement between annotators, beyond chance.

Marks are unordered labels (rationale, irrelevant, unsure); None is a missing mark. A metric is None if it is undefined:
nothing was marked twice, or all marks are the same.
Shapes: U units (a unit is a sentence for a fact), J annotators, C categories.
"""

from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

MarkRow = Sequence[Hashable | None]

RATIONALE, IRRELEVANT, UNSURE = "rationale", "irrelevant", "unsure"


def majority(labels: Iterable[str]) -> str:
    """Return the label that most annotators gave; unsure if rationale and irrelevant tie, or nobody is sure.

    >>> majority(["rationale", "irrelevant", "rationale", "unsure"]), majority(["rationale", "irrelevant"])
    ('rationale', 'unsure')
    """
    balance = sum((label == RATIONALE) - (label == IRRELEVANT) for label in labels)
    return RATIONALE if balance > 0 else IRRELEVANT if balance < 0 else UNSURE


def percent_agreement(first: MarkRow, second: MarkRow) -> float | None:
    """Return the share (0 to 1) of units with the same mark, among those marked by both annotators.

    >>> percent_agreement(["yes", "no", None], ["yes", "yes", "no"])
    0.5
    """
    table_CC = _confusion(first, second)
    total = table_CC.sum()
    return float(np.trace(table_CC) / total) if total else None


def cohen_kappa(first: MarkRow, second: MarkRow) -> float | None:
    """Return Cohen's κ over the units marked by both annotators: agreement beyond chance, given their mark frequencies.

    >>> cohen_kappa([1, 1, 0, 0], [1, 0, 0, 0])
    0.5
    """
    table_CC = _confusion(first, second)
    total = table_CC.sum()
    expected = (table_CC.sum(axis=0) * table_CC.sum(axis=1)).sum()
    # Both are counts times `total`, so that the undefined case is an exact comparison of integers.
    if expected == total * total:
        return None
    return float((np.trace(table_CC) * total - expected) / (total * total - expected))


def krippendorff_alpha(marks_JU: Sequence[MarkRow]) -> float | None:
    """Return Krippendorff's α for nominal marks, one row per annotator; marks may be missing.

    Units with fewer than two marks say nothing about agreement and are left out (Krippendorff 2011).

    >>> krippendorff_alpha([[1, 0, None], [1, 0, 1]])
    1.0
    """
    count_UC = _mark_counts(marks_JU)
    count_UC = count_UC[count_UC.sum(axis=1) >= 2]
    num_marks_U, num_marks_C = count_UC.sum(axis=1), count_UC.sum(axis=0)
    total = num_marks_U.sum()
    # Pairs of different marks: those within units, weighted by the unit's number of marks, and all possible ones.
    unlike_U = num_marks_U**2 - (count_UC**2).sum(axis=1)
    observed = float(np.sum(unlike_U / (num_marks_U - 1)))
    possible = int(total**2 - (num_marks_C**2).sum())
    if not possible:
        return None
    return float(1 - (total - 1) * observed / possible)


def _confusion(first: MarkRow, second: MarkRow) -> NDArray[np.int64]:
    """Return how often the first annotator gave mark r and the second mark c, over the units that both marked."""
    if len(first) != len(second):
        raise ValueError(f"expected equally many marks, got {len(first):,} and {len(second):,}")
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    category_ids = {mark: i for i, mark in enumerate(dict.fromkeys(mark for pair in pairs for mark in pair))}
    table_CC = np.zeros((len(category_ids), len(category_ids)), dtype=np.int64)
    for a, b in pairs:
        table_CC[category_ids[a], category_ids[b]] += 1
    return table_CC


def _mark_counts(marks_JU: Sequence[MarkRow]) -> NDArray[np.int64]:
    """Return how many annotators gave each unit each mark."""
    num_units = len(marks_JU[0]) if marks_JU else 0
    if any(len(marks) != num_units for marks in marks_JU):
        raise ValueError("every annotator needs one entry per unit, None for a missing mark")
    categories = dict.fromkeys(mark for marks in marks_JU for mark in marks if mark is not None)
    category_ids = {mark: i for i, mark in enumerate(categories)}
    count_UC = np.zeros((num_units, len(category_ids)), dtype=np.int64)
    for marks in marks_JU:
        for unit, mark in enumerate(marks):
            if mark is not None:
                count_UC[unit, category_ids[mark]] += 1
    return count_UC
