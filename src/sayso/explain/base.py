"""What an explainer promises.

Shapes: B bags, N sentences of all bags together, D width of a sentence vector, R relations.
"""

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor

from sayso.features.batch import BagIndex
from sayso.model.aggregators.base import Influence
from sayso.model.extractor import Extractor

Explain = Callable[[Extractor, Tensor, BagIndex], Tensor]
FromInfluence = Callable[[Influence, BagIndex], Tensor]


class Explainer(NamedTuple):
    """A mechanism that says how much each sentence matters for each relation, and what kind of mechanism it is.

    `explain(extractor, vector_ND, bags)` returns score_NR: one finite score for every sentence and relation, also
    where all relations share it; higher = matters more. A bag's scores do not depend on the other bags. The model is
    left as it was, no gradient is left behind, and it makes no difference whether gradients are enabled.
    """

    explain: Explain
    is_signed: bool
    """Whether a negative score says that the sentence speaks against the relation."""
    needs_gradient: bool
    """Whether it is defined by the gradient of the logit."""
    about: str
    """What the score is, in a few words."""
    from_influence: FromInfluence | None = None
    """The same scores from the closed form of the gradient, which several mechanisms then share."""
