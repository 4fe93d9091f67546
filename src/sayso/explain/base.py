"""The interface of an explainer, and code that explainers share: gradients, and logits of subsets of a bag.

Gradients come from the aggregator's closed form (`influence_of`). If an aggregator has none, it raises
NotImplementedError, and automatic differentiation is used: one backward pass per relation, which is slow. Tests use it
as the reference. Leave-one-out and Shapley values are computed from logits of subsets.

Shapes: B bags, N sentences in all bags, D width of a sentence vector, R relations, C sub-bags.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from sayso.features.batch import BagIndex
from sayso.model.aggregators.base import Influence
from sayso.model.ensemble import Ensemble, members_with
from sayso.model.extractor import Extractor
from sayso.model.kernels.threads import compiled_if_possible
from sayso.model.ragged import bag_starts
from sayso.store.rows import Rows

SENTENCES_AT_A_TIME = 2**16
"""Maximum number of sentences of sub-bags that are classified at once."""
SUBSET_SENTENCES_AT_A_TIME = 2**14

Explain = Callable[[Extractor, Tensor, BagIndex], Tensor]
FromInfluence = Callable[[Influence, BagIndex], Tensor]
FromGradient = Callable[[Tensor, Tensor], Tensor]
"""Maps vector_ND and one relation's gradient_ND to score_N."""


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
    from_influence: FromInfluence | None = None
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


def scores_from_gradient(
    extractor: Extractor, vector_ND: Tensor, bags: BagIndex, of_influence: FromInfluence, of_gradient: FromGradient
) -> Tensor:
    """Return score_NR of a mechanism that is linear in the gradient; `of_gradient` is for use without a closed form.

    An ensemble's score is Σ_m ∂o_k/∂o_mk · score_m (the chain rule), exactly that of the ensemble's own logit.
    """
    if isinstance(extractor, Ensemble):
        influence_MBR = extractor.influence_of_members(vector_ND, bags)
        members = zip(influence_MBR, members_with(extractor, vector_ND), strict=True)
        scores = [
            change_BR[bags.bag_N] * scores_from_gradient(*member, bags, of_influence, of_gradient)
            for change_BR, member in members
        ]
        return torch.stack(scores).sum(0)
    parts = influence_of(extractor, vector_ND, bags)
    return scores_from_autograd(extractor, vector_ND, bags, of_gradient) if parts is None else of_influence(parts, bags)


def influence_of(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Influence | None:
    """Return ∂o_k/∂x_n in closed form, or None if the aggregator has none."""
    try:
        with compiled_if_possible(vector_ND.device):
            parts = extractor.aggregator.influence(vector_ND, bags, extractor.scorer)
    except NotImplementedError:
        return None
    if extractor.calibration is None:
        return parts
    pulls = tuple(pull._replace(change_NR=extractor.rescaled(pull.change_NR)) for pull in parts.pulls)
    return replace(parts, weight_NR=extractor.rescaled(parts.weight_NR), pulls=pulls)


def scores_from_autograd(extractor: Extractor, vector_ND: Tensor, bags: BagIndex, of_gradient: FromGradient) -> Tensor:
    """Return score_NR, by one backward pass per relation.

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
            columns.append(of_gradient(vector_ND, gradient_ND))
        score_NR = torch.stack(columns, 1)
    return score_NR if is_learning else score_NR.detach()


def sentences_of(bags: BagIndex) -> Rows:
    """Return the index of each bag's sentences."""
    return Rows(np.arange(bags.num_sentences), bag_starts(bags.bag_N, bags.num_bags).cpu().numpy())


def empty_bag_logits(extractor: Extractor, bags: BagIndex) -> Tensor:
    """Return logit_BR for the bags without their sentences: x̄ = 0, with the entity terms."""
    relation_RD = extractor.scorer.relation_RD
    nothing_BD = relation_RD.new_zeros(bags.num_bags, relation_RD.shape[1])
    return extractor.calibrated(extractor.scorer.score_pooled(nothing_BD, bags))


def sub_bag_logits(
    extractor: Extractor, vector_ND: Tensor, bags: BagIndex, bag_C: np.ndarray, sentences: Rows
) -> Tensor:
    """Return logit_CR by running the model on bags `bag_C` with only the sentences in their row, which may be empty."""
    device = vector_ND.device
    # Aggregators never get empty bags: a maximum over no sentences is −inf.
    filled = np.flatnonzero(sentences.length)
    index = bags.with_sizes(bag_C[filled], sentences.length[filled])
    found_CR = extractor.classify(vector_ND[torch.from_numpy(sentences.value).to(device)], index)
    logit_CR = empty_bag_logits(extractor, bags)[torch.from_numpy(bag_C).to(device)]
    return logit_CR.index_copy(0, torch.from_numpy(filled).to(device), found_CR)
