"""Leave-one-out: how much lower a logit is without the sentence, which is removed, not zeroed.

Shapes: B bags, N sentences of all bags together, C of them at a time, D width of a sentence vector, R relations.
Removing a sentence from all bags at once takes no second run of the model: attention's mean without a sentence
follows from the mean with it, and the maximum without a sentence is the best of the others.
"""

import torch
from torch import Tensor

from sayso.explain.base import Explain, Explainer
from sayso.explain.removal import leave_one_out_by_removal
from sayso.explain.slices import slices
from sayso.features.batch import BagIndex
from sayso.model.aggregators.attention import Attention
from sayso.model.aggregators.base import Aggregator
from sayso.model.aggregators.direct import Direct
from sayso.model.entity import EntityProjection
from sayso.model.extractor import Extractor
from sayso.model.ragged import bag_max, bag_mix, bag_sum, is_unique_max, max_of_others, mean_of_others

VALUES_AT_A_TIME = 2**19
"""Values of [C, R, D] that are held at once: small enough for a processor's cache."""


@torch.no_grad()
def leave_one_out(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Tensor:
    """Return score_NR = o_k − o_k(bag without n), signed; the empty bag has x̄ = 0 and keeps the entities' terms."""
    return CLOSED_FORMS.get(type(extractor.aggregator), leave_one_out_by_removal)(extractor, vector_ND, bags)


def _without_one_attended(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Tensor:
    """Return α_nk (s_nk − s̄_k,−n), the mean s̄_k,−n taken under the softmax over the *other* sentences."""
    aggregator, entity = extractor.aggregator, extractor.scorer.entity
    assert isinstance(aggregator, Attention)
    if entity is not None:
        return _without_one_projected(
            entity, extractor.scorer.relation_RD, aggregator.attend(vector_ND), vector_ND, bags
        )
    score_NR = aggregator.attend(vector_ND)
    match_NR = vector_ND @ extractor.scorer.relation_RD.T
    others_NR = mean_of_others(score_NR, match_NR, bags.bag_N, bags.num_bags)
    return aggregator.weigh(vector_ND, bags) * (match_NR - others_NR)


def _without_one_projected(
    entity: EntityProjection, relation_RD: Tensor, score_NR: Tensor, vector_ND: Tensor, bags: BagIndex
) -> Tensor:
    """Return the same for +E, where the mean goes through a ReLU, so that it is needed in full for each n and k."""
    bag_N, num_bags = bags.bag_N, bags.num_bags
    text_ND = entity.project_text(vector_ND)
    pair_BRD = entity.project_pair(bags)[:, None]
    mass_NR = (score_NR - bag_max(score_NR, bag_N, num_bags)[bag_N]).exp()
    total_BR = bag_sum(mass_NR, bag_N, num_bags)
    mean_BRD = bag_mix(mass_NR / total_BR[bag_N], text_ND, bag_N, num_bags)
    # Only a bag's one best sentence can leave the others with too little mass to divide by: weigh them anew.
    is_best_NR = is_unique_max(score_NR, bag_N, num_bags)
    anew_BRD = bag_mix(_softmax_of_rest(score_NR, is_best_NR, bags), text_ND, bag_N, num_bags)
    best_BR = -(_relu_change(mean_BRD + pair_BRD, anew_BRD - mean_BRD) * relation_RD).sum(2)
    # Without another one the mean moves away from it, by its mass over that of the others, which is at least 1.
    ratio_NR = (mass_NR / (total_BR[bag_N] - mass_NR).clamp(min=0.5)).masked_fill(is_best_NR, 0.0)
    at_a_time = max(1, VALUES_AT_A_TIME // relation_RD.numel())
    for rows in slices(len(vector_ND), at_a_time):
        mean_CRD = mean_BRD[bag_N[rows]]
        step_CRD = (mean_CRD - text_ND[rows][:, None]).mul_(ratio_NR[rows][:, :, None])
        change_CRD = _relu_change(mean_CRD.add_(pair_BRD[bag_N[rows]]), step_CRD)
        ratio_NR[rows] = -change_CRD.mul_(relation_RD).sum(2)
    return torch.where(is_best_NR, best_BR[bag_N], ratio_NR)


def _softmax_of_rest(score_NR: Tensor, is_best_NR: Tensor, bags: BagIndex) -> Tensor:
    """Return the weights of the sentences that are not the one best of their bag; zeros where none is left."""
    rest_NR = score_NR.masked_fill(is_best_NR, -torch.inf)
    peak_BR = bag_max(rest_NR, bags.bag_N, bags.num_bags)
    peak_BR = peak_BR.masked_fill(peak_BR == -torch.inf, 0.0)
    mass_NR = (rest_NR - peak_BR[bags.bag_N]).exp()
    total_BR = bag_sum(mass_NR, bags.bag_N, bags.num_bags).clamp(min=torch.finfo(score_NR.dtype).tiny)
    return mass_NR / total_BR[bags.bag_N]


def _relu_change(value: Tensor, step: Tensor) -> Tensor:
    """Return relu(value + step) − relu(value) without the rounding of that difference; `step` is used up."""
    return torch.maximum(step.add_(value.clamp(max=0.0)), value.clamp_(min=0.0).neg_(), out=step)


def _without_one_pooled(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Tensor:
    """Return the score from the drop of the maximum of α_n x_n in each dimension when n is not there."""
    scorer, bag_N, num_bags = extractor.scorer, bags.bag_N, bags.num_bags
    weighted_ND = extractor.aggregator.weigh(vector_ND, bags) * vector_ND
    pooled_BD = bag_max(weighted_ND, bag_N, num_bags)
    others_ND = max_of_others(weighted_ND, bag_N, num_bags)
    drop_ND = pooled_BD[bag_N] - others_ND.masked_fill(others_ND == -torch.inf, 0.0)
    if scorer.entity is not None:
        before_BD = scorer.entity.project_text(pooled_BD) + scorer.entity.project_pair(bags)
        drop_ND = -_relu_change(before_BD[bag_N], -scorer.entity.project_text(drop_ND))
    return drop_ND @ scorer.relation_RD.T


CLOSED_FORMS: dict[type[Aggregator], Explain] = {Attention: _without_one_attended, Direct: _without_one_pooled}

EXPLAINER = Explainer(
    leave_one_out, is_signed=True, needs_gradient=False, about="how much the logit loses without the sentence"
)
