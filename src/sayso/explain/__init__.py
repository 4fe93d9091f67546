"""An extractor and bags to one score per sentence and relation: one file per mechanism.

EXPLAINERS maps a mechanism's name to its function and properties; a new one is one file that ends in its `EXPLAINER`,
one line here and one heading in the docs.
"""

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
