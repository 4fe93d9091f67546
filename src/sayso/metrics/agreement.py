"""Agreement between annotators, beyond chance.

Marks are unordered labels (rationale, irrelevant, unsure); None is a missing mark. A metric is None if it is undefined:
nothing was marked twice, or all marks are the same.
Shapes: U units (a unit is a sentence for a fact), J annotators.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

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
    """Return the fraction (0 to 1) of units with the same mark, among those marked by both annotators.

    >>> percent_agreement(["yes", "no", None], ["yes", "yes", "no"])
    0.5
    """
    pairs = _marked_by_both(first, second)
    return sum(a == b for a, b in pairs) / len(pairs) if pairs else None


def cohen_kappa(first: MarkRow, second: MarkRow) -> float | None:
    """Return Cohen's κ over the units marked by both annotators: agreement beyond chance, given their mark frequencies.

    >>> cohen_kappa([1, 1, 0, 0], [1, 0, 0, 0])
    0.5
    """
    pairs = _marked_by_both(first, second)
    total, num_same = len(pairs), sum(a == b for a, b in pairs)
    num_first, num_second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    expected = sum(num * num_second[mark] for mark, num in num_first.items())
    # Both are counts times `total`, so that the undefined case is an exact comparison of integers.
    if expected == total * total:
        return None
    return (num_same * total - expected) / (total * total - expected)


def krippendorff_alpha(marks_JU: Sequence[MarkRow]) -> float | None:
    """Return Krippendorff's α for nominal marks, one row per annotator; marks may be missing.

    Units with fewer than two marks say nothing about agreement and are left out (Krippendorff 2011).

    >>> krippendorff_alpha([[1, 0, None], [1, 0, 1]])
    1.0
    """
    counts_U = [Counter(mark for mark in unit if mark is not None) for unit in zip(*marks_JU, strict=True)]
    counts_U = [counts for counts in counts_U if counts.total() >= 2]
    counts_of_all = sum(counts_U, Counter[Hashable]())
    # Pairs of different marks: those within units, weighted by the unit's number of marks, and all possible ones.
    observed = sum(_num_unlike(counts) / (counts.total() - 1) for counts in counts_U)
    possible = _num_unlike(counts_of_all)
    return 1 - (counts_of_all.total() - 1) * observed / possible if possible else None


def _num_unlike(counts: "Counter[Hashable]") -> int:
    return counts.total() ** 2 - sum(num**2 for num in counts.values())


def _marked_by_both(first: MarkRow, second: MarkRow) -> list[tuple[Hashable, Hashable]]:
    return [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
