"""Leave-one-out: how much lower a logit is without the sentence, which is removed, not zeroed.

The closed forms score all sentences at once without running the model again: attention's mean without a sentence
follows from the mean with it, and the maximum without a sentence is the maximum of the others. Any other aggregator is
run again on each bag without each of its sentences, which is slow.

Shapes: B bags, N sentences in all bags, C of them at a time, D width of a sentence vector, R relations.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from sayso.explain.base import SENTENCES_AT_A_TIME, Explain, Explainer, sentences_of, sub_bag_logits
from sayso.features.batch import BagIndex
from sayso.memory import slices, slices_by_cost
from sayso.model.aggregators.attention import Attention
from sayso.model.aggregators.base import Aggregator
from sayso.model.aggregators.direct import Direct
from sayso.model.aggregators.noisy_or import NoisyOr, logit_of_surprise
from sayso.model.ensemble import MeanAggregator, mean_logit, members_with
from sayso.model.extractor import Extractor
from sayso.model.kernels.threads import compiled_if_possible, is_compiled
from sayso.model.ragged import bag_max, bag_mix, bag_sum, is_unique_max, mass_without, max_of_others, mean_of_others
from sayso.store.rows import Rows

VALUES_AT_A_TIME = 2**19
"""Maximum number of values in a [C, R, D] block, chosen to fit the cache."""


class Removal(NamedTuple):
    """How a weighted mean over a bag changes when one sentence is removed, for any averaged values."""

    weight_NR: Tensor
    """The sentence's share of the mean."""
    rest_NR: Tensor
    """Its share after the bag's unique best sentence is removed; 0 for that sentence."""
    ratio_NR: Tensor
    """How far its removal moves the mean away from it, as a multiple of their distance; 0 for the unique best."""
    is_best_NR: Tensor


@torch.no_grad()
def leave_one_out(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Tensor:
    """Return score_NR = o_k − o_k(bag without n), signed; the empty bag has x̄ = 0 and keeps the entity terms."""
    closed_form = CLOSED_FORMS.get(type(extractor.aggregator))
    if closed_form is None:
        return leave_one_out_by_removal(extractor, vector_ND, bags)
    with compiled_if_possible(vector_ND.device):
        return extractor.rescaled(closed_form(extractor, vector_ND, bags))


def _without_one_attended(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Tensor:
    """Return the score from the means with and without the sentence and, with `context`, from the change in c_k."""
    aggregator = extractor.aggregator
    assert isinstance(aggregator, Attention)
    score_NR = _removal_from_mean(extractor, vector_ND, bags)
    if aggregator.context is None:
        return score_NR
    change_NR = aggregator.context(vector_ND, bags)[bags.bag_N] - aggregator.context.without_one(vector_ND, bags)
    found: Tensor = score_NR + change_NR.to(score_NR.dtype)
    return found


def _removal_from_mean(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Tensor:
    """Return α_nk (s_nk − s̄_k,−n), the mean s̄_k,−n taken under the softmax over the *other* sentences."""
    aggregator, scorer = extractor.aggregator, extractor.scorer
    score_NR = aggregator.own_score(vector_ND, scorer)
    if scorer.entity is None:
        match_NR = vector_ND @ scorer.relation_RD.T
        others_NR = mean_of_others(score_NR, match_NR, bags.bag_N, bags.num_bags)
        return aggregator.weigh(vector_ND, bags, scorer) * (match_NR - others_NR)
    # The ReLU of +E needs the full mean for each n and k.
    removal = removal_of(score_NR, bags)
    projected = scorer.entity.project_text(vector_ND), scorer.entity.project_pair(bags), scorer.relation_RD
    if is_compiled(vector_ND.device):
        from sayso.explain.compiled import removal_losses

        return removal_losses(removal, *projected, bags)
    return plain_removal_losses(removal, *projected, bags)


def removal_of(score_NR: Tensor, bags: BagIndex) -> Removal:
    """Return how the mean weighted by the softmax of these scores changes without each sentence."""
    bag_N, num_bags = bags.bag_N, bags.num_bags
    mass_NR = (score_NR - bag_max(score_NR, bag_N, num_bags)[bag_N]).exp()
    total_NR = bag_sum(mass_NR, bag_N, num_bags)[bag_N]
    # Without the unique best, the others may have too little mass to divide by: normalise them again.
    is_best_NR = is_unique_max(score_NR, bag_N, num_bags)
    # Removing any other sentence moves the mean away from it by its mass over that of the rest, which is at least 1.
    ratio_NR = (mass_NR / (total_NR - mass_NR).clamp(min=0.5)).masked_fill(is_best_NR, 0.0)
    rest_NR, left_BR = mass_without(is_best_NR, score_NR, bag_N, num_bags)
    return Removal(mass_NR / total_NR, rest_NR / left_BR[bag_N], ratio_NR, is_best_NR)


def plain_removal_losses(
    removal: Removal, text_ND: Tensor, pair_BD: Tensor, relation_RD: Tensor, bags: BagIndex
) -> Tensor:
    """Return how much each logit drops without each sentence, [N, R], in plain torch."""
    bag_N, num_bags = bags.bag_N, bags.num_bags
    pair_BRD, score_NR = pair_BD[:, None], removal.ratio_NR.clone()
    mean_BRD = bag_mix(removal.weight_NR, text_ND, bag_N, num_bags)
    reweighed_BRD = bag_mix(removal.rest_NR, text_ND, bag_N, num_bags)
    best_BR = -(_relu_change(mean_BRD + pair_BRD, reweighed_BRD - mean_BRD) * relation_RD).sum(2)
    at_a_time = max(1, VALUES_AT_A_TIME // relation_RD.numel())
    for rows in slices(len(text_ND), at_a_time):
        mean_CRD = mean_BRD[bag_N[rows]]
        step_CRD = (mean_CRD - text_ND[rows][:, None]).mul_(removal.ratio_NR[rows][:, :, None])
        change_CRD = _relu_change(mean_CRD.add_(pair_BRD[bag_N[rows]]), step_CRD)
        score_NR[rows] = -change_CRD.mul_(relation_RD).sum(2)
    return torch.where(removal.is_best_NR, best_BR[bag_N], score_NR)


def _relu_change(value: Tensor, step: Tensor) -> Tensor:
    """Return relu(value + step) − relu(value) without cancellation error; overwrites `step`."""
    return torch.maximum(step.add_(value.clamp(max=0.0)), value.clamp_(min=0.0).neg_(), out=step)


def _without_one_pooled(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Tensor:
    """Return the score from how far the maximum of α_n x_n drops in each dimension without n."""
    scorer, bag_N, num_bags = extractor.scorer, bags.bag_N, bags.num_bags
    weighted_ND = extractor.aggregator.weigh(vector_ND, bags, scorer) * vector_ND
    pooled_BD = bag_max(weighted_ND, bag_N, num_bags)
    others_ND = max_of_others(weighted_ND, bag_N, num_bags)
    drop_ND = pooled_BD[bag_N] - others_ND.masked_fill(others_ND == -torch.inf, 0.0)
    if scorer.entity is not None:
        before_ND = scorer.entity.before_relu(pooled_BD, bags)[bag_N]
        drop_ND = -_relu_change(before_ND, -scorer.entity.project_text(drop_ND))
    return drop_ND @ scorer.relation_RD.T


def _without_one_stating(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Tensor:
    """Return the score from the sentence's own term of −log(1 − p)."""
    aggregator = extractor.aggregator
    assert isinstance(aggregator, NoisyOr)
    scorer, bag_N, num_bags = extractor.scorer, bags.bag_N, bags.num_bags
    # In float64: one sentence may account for almost all of the sum.
    alone_BR, added_NR = (term.double() for term in aggregator.surprises(vector_ND, bags, scorer))
    stated_NR = bag_sum(added_NR, bag_N, num_bags)[bag_N]
    pair_NR = aggregator.logit_of_pair(vector_ND, bags, scorer).double()[bag_N]
    if aggregator.context is not None:
        pair_NR = pair_NR + aggregator.context.without_one(vector_ND, bags)
    others_NR = nn.functional.softplus(pair_NR)
    others_NR = others_NR + (stated_NR - added_NR).clamp(min=0.0)
    return (logit_of_surprise(alone_BR[bag_N] + stated_NR) - logit_of_surprise(others_NR)).to(vector_ND.dtype)


def _without_one_averaged(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Tensor:
    """Return the score of an ensemble from its members' logits with and without n."""
    logits, without = [], []
    for member, part_ND in members_with(extractor, vector_ND):
        logits.append(member.classify(part_ND, bags))
        without.append(logits[-1][bags.bag_N] - leave_one_out(member, part_ND, bags))
    return mean_logit(logits)[bags.bag_N] - mean_logit(without)


CLOSED_FORMS: dict[type[Aggregator], Explain] = {
    Attention: _without_one_attended,
    Direct: _without_one_pooled,
    NoisyOr: _without_one_stating,
    MeanAggregator: _without_one_averaged,
}

EXPLAINER = Explainer(
    leave_one_out, is_signed=True, needs_gradient=False, about="the drop in the logit without the sentence"
)


@torch.no_grad()
def leave_one_out_by_removal(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Tensor:
    """Return score_NR = o_k − o_k(bag without n) by running the model on every bag without n."""
    logit_NR = extractor.classify(vector_ND, bags)[bags.bag_N]
    bag_N, of_bags = bags.bag_N.cpu().numpy(), sentences_of(bags)
    without = [logit_NR[:0]]
    for removed in slices_by_cost(of_bags.length[bag_N], SENTENCES_AT_A_TIME):
        whole = of_bags.take(bag_N[removed])
        is_left = whole.value != np.repeat(np.arange(removed.start, removed.stop), whole.length)
        left = Rows.of_lengths(whole.value[is_left], whole.length - 1)
        without.append(sub_bag_logits(extractor, vector_ND, bags, bag_N[removed], left))
    return logit_NR - torch.cat(without)
