"""The interface of an explainer, and the gradients that several explainers share.

Gradients come from the aggregator's closed form (`influence_of`). If an aggregator has none, it raises
NotImplementedError, and automatic differentiation is used: one backward pass per relation, which is slow. Tests use it
as the reference.

Shapes: B bags, N sentences of all bags together, D width of a sentence vector, R relations.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import NamedTuple

import torch
from torch import Tensor

from sayso.features.batch import BagIndex
from sayso.model.aggregators.base import Influence
from sayso.model.ensemble import Ensemble, members_with
from sayso.model.extractor import Extractor
from sayso.model.kernels.threads import compiled_if_possible

Explain = Callable[[Extractor, Tensor, BagIndex], Tensor]


class Explainer(NamedTuple):
    """A mechanism that scores how much each sentence matters for each relation, and its properties.

    `explain(extractor, vector_ND, bags)` returns score_NR: one finite score per sentence and relation, even if all
    relations share it; higher means more important. A bag's scores do not depend on the other bags. The model and its
    gradients are left unchanged, and the scores are the same whether or not gradients are enabled.
    """

    explain: Explain
    is_signed: bool
    """Whether a negative score means that the sentence counts against the relation."""
    needs_gradient: bool
    """Whether the score is defined by the gradient of the logit."""
    about: str
    """A short description of the score."""
    from_influence: Callable[[Influence, BagIndex], Tensor] | None = None
    """Computes the same scores from a closed-form gradient that is already available."""


def explain_all(
    mechanisms: Mapping[str, Explainer], extractor: Extractor, vector_ND: Tensor, bags: BagIndex
) -> dict[str, Tensor]:
    """Return score_NR by mechanism; closed-form gradients are computed once and shared."""
    num_sharing = sum(each.from_influence is not None for each in mechanisms.values())
    parts = influence_of(extractor, vector_ND, bags) if num_sharing > 1 else None
    return {
        name: each.explain(extractor, vector_ND, bags)
        if parts is None or each.from_influence is None
        else each.from_influence(parts, bags)
        for name, each in mechanisms.items()
    }


def over_members(explain: Explain) -> Explain:
    """Make a mechanism that is linear in the gradient also explain ensembles, by the chain rule.

    The score is Σ_m ∂o_k/∂o_mk · score_m, exactly the mechanism's score for the ensemble's own logit.
    """

    @wraps(explain)
    def explain_any(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Tensor:
        if not isinstance(extractor, Ensemble):
            return explain(extractor, vector_ND, bags)
        influence_MBR = extractor.influence_of_members(vector_ND, bags)
        members = zip(influence_MBR, members_with(extractor, vector_ND), strict=True)
        scores = [change_BR[bags.bag_N] * explain(*member, bags) for change_BR, member in members]
        return torch.stack(scores).sum(0)

    return explain_any


def influence_of(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Influence | None:
    """Return ∂o_k/∂x_n in closed form, or None if the aggregator has none."""
    try:
        with compiled_if_possible(vector_ND.device):
            parts = extractor.aggregator.influence(vector_ND, bags, extractor.scorer)
    except NotImplementedError:
        return None
    if extractor.calibration is None:
        return parts
    return replace(parts, weight_NR=extractor.rescaled(parts.weight_NR), pull_NR=extractor.rescaled(parts.pull_NR))


def scores_from_autograd(
    extractor: Extractor, vector_ND: Tensor, bags: BagIndex, score_of: Callable[[Tensor, Tensor], Tensor]
) -> Tensor:
    """Return score_NR, where `score_of` maps the vectors and one relation's gradient to score_N.

    If gradients are enabled, the scores can be differentiated.
    """
    is_learning = torch.is_grad_enabled()
    with torch.enable_grad():
        if not (is_learning and vector_ND.requires_grad):
            vector_ND = vector_ND.detach().requires_grad_()
        logit_BR = extractor.classify(vector_ND, bags)
        columns = []
        for logit_B in logit_BR.unbind(1):
            (gradient_ND,) = torch.autograd.grad(logit_B.sum(), vector_ND, retain_graph=True, create_graph=is_learning)
            columns.append(score_of(vector_ND, gradient_ND))
        score_NR = torch.stack(columns, 1)
    return score_NR if is_learning else score_NR.detach()
