"""Which mechanisms are asked, and which of them puts the sentences in order."""

from collections.abc import Sequence

from sayso.errors import UserError
from sayso.explain import EXPLAINERS
from sayso.explain.base import Explainer

RANKED_BY = ("shapley", "gradient_x_input")
"""What orders the sentences for the smallest set: the first of these that is asked for, else the first asked for.

Not leave-one-out: where two sentences say the same, each alone can be spared, and both would rank last.
"""


def mechanisms_named(names: Sequence[str] | None = None) -> dict[str, Explainer]:
    """Return the mechanisms of these names, all where none are given; an unknown name is a `UserError`."""
    for name in names or ():
        if name not in EXPLAINERS:
            raise UserError(f"no mechanism is called {name!r}: choose from {', '.join(EXPLAINERS)}")
    return {name: EXPLAINERS[name] for name in names or EXPLAINERS}


def ranked_by(names: Sequence[str]) -> str:
    """Return the mechanism that puts the sentences in order."""
    return next((name for name in RANKED_BY if name in names), next(iter(names)))
