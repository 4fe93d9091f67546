"""Several mechanisms at once: the closed form of the gradient, which some of them share, is computed once.

Shapes: N sentences of all bags together, D width of a sentence vector, R relations.
"""

from collections.abc import Mapping

from torch import Tensor

from sayso.explain.base import Explainer
from sayso.explain.from_autograd import influence_of
from sayso.features.batch import BagIndex
from sayso.model.extractor import Extractor


def explain_all(
    mechanisms: Mapping[str, Explainer], extractor: Extractor, vector_ND: Tensor, bags: BagIndex
) -> dict[str, Tensor]:
    """Return score_NR of each mechanism, the same as each of them gives alone."""
    num_sharing = sum(each.from_influence is not None for each in mechanisms.values())
    parts = influence_of(extractor, vector_ND, bags) if num_sharing > 1 else None
    return {
        name: each.explain(extractor, vector_ND, bags)
        if parts is None or each.from_influence is None
        else each.from_influence(parts, bags)
        for name, each in mechanisms.items()
    }
