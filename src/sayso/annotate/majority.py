"""One label out of several people's."""

from collections.abc import Iterable

RATIONALE, IRRELEVANT, UNSURE = "rationale", "irrelevant", "unsure"
_VOTES = {RATIONALE: 1, IRRELEVANT: -1}


def majority(labels: Iterable[str]) -> str:
    """Return what more people say of rationale and irrelevant; unsure where they are even, or nobody is sure.

    >>> majority(["rationale", "irrelevant", "rationale", "unsure"]), majority(["rationale", "irrelevant"])
    ('rationale', 'unsure')
    """
    balance = sum(_VOTES.get(label, 0) for label in labels)
    return RATIONALE if balance > 0 else IRRELEVANT if balance < 0 else UNSURE
