"""Mechanisms that score every sentence of a bag for every relation: one file per mechanism.

EXPLAINERS maps a mechanism's name to its function and properties. A new one is one file that ends in its `EXPLAINER`,
one line here and one heading in the docs.
"""

from collections.abc import Sequence

from sayso.errors import UserError
from sayso.explain import (
    attention,
    gradient_x_input,
    integrated_gradients,
    leave_one_out,
    saliency,
    shapley,
)
from sayso.explain.base import Explainer

EXPLAINERS: dict[str, Explainer] = {
    "attention": attention.EXPLAINER,
    "saliency": saliency.EXPLAINER,
    "gradient_x_input": gradient_x_input.EXPLAINER,
    "leave_one_out": leave_one_out.EXPLAINER,
    "integrated_gradients": integrated_gradients.EXPLAINER,
    "shapley": shapley.EXPLAINER,
}

RANKED_BY = ("shapley", "gradient_x_input")
"""Mechanisms that rank the sentences for the smallest set: the first of these in use, else the first in use.

Not leave-one-out: where two sentences say the same, removing either alone changes nothing, and both would rank last.
"""


def mechanisms_named(names: Sequence[str] | None = None) -> dict[str, Explainer]:
    """Return the mechanisms of these names, or all; raises `UserError` on an unknown name."""
    for name in names or ():
        if name not in EXPLAINERS:
            raise UserError(f"no mechanism is called {name!r}: choose from {', '.join(EXPLAINERS)}")
    return {name: EXPLAINERS[name] for name in names or EXPLAINERS}


def ranked_by(names: Sequence[str]) -> str:
    """Return which of these mechanisms ranks the sentences."""
    return next((name for name in RANKED_BY if name in names), next(iter(names)))
