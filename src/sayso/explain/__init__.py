"""Mechanisms that score every sentence of a bag for every relation: one file per mechanism.

EXPLAINERS maps a mechanism's name to its function and properties. To add a mechanism, write a file that
ends with its `EXPLAINER`, and add a line here and a heading in the docs.
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
"""Mechanisms that may rank the sentences for the smallest set, in order of preference; if none of them is in use, the
first mechanism in use ranks them.

Leave-one-out is not listed: if two sentences say the same thing, removing either one changes nothing, so both would
rank last.
"""


def mechanisms_named(names: Sequence[str] | None = None) -> dict[str, Explainer]:
    """Return the named mechanisms, or all of them; raise `UserError` on an unknown name."""
    for name in names or ():
        if name not in EXPLAINERS:
            raise UserError(f"unknown mechanism {name!r}: choose one of {', '.join(EXPLAINERS)}")
    return {name: EXPLAINERS[name] for name in names or EXPLAINERS}


def ranked_by(names: Sequence[str]) -> str:
    """Return which of these mechanisms ranks the sentences."""
    return next((name for name in RANKED_BY if name in names), next(iter(names)))
