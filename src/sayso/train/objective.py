"""The loss, term by term: bags, directly supervised sentences and their relation labels, distractors, marks.

Shapes: B bags, N sentences in all bags, S all sentences that are encoded, M distractors, G sentences of the
M augmented bags, K marks, L sentences with a relation label, C labels, D width of a sentence vector, R relations.
"""

import torch
from torch import Tensor, nn

from sayso.explain.gradient_x_input import gradient_x_input
from sayso.explain.saliency import saliency
from sayso.features.batch import BagBatch, BagIndex, LabelBatch, MarkBatch
from sayso.model.extractor import Extractor
from sayso.model.layers import Affine
from sayso.model.ragged import bag_max
from sayso.seeding import sub_seed
from sayso.train.config import LossConfig
from sayso.train.device import sum_over_shards
from sayso.train.epoch import ProcessShard


class Objective(nn.Module):
    """A model and its loss in one forward pass, as data-parallel training requires.

    Args:
        extractor: The model.
        config: The terms of the loss and their weights.
        num_labels: C, the number of relation labels of directly supervised sentences. Their classifier is part of the
            objective, not of the model: nothing but training uses it.
        seed: Seed of the classifier's initial weights.
        shard: This process's shard of every batch.
    """

    def __init__(
        self,
        extractor: Extractor,
        config: LossConfig,
        num_labels: int = 0,
        seed: int = 0,
        shard: ProcessShard = ProcessShard(),
    ) -> None:
        super().__init__()
        self.shard = shard
        self.extractor = extractor
        self.config = config
        generator = torch.Generator().manual_seed(sub_seed(seed, "label classifier"))
        width = extractor.encoder.width
        self.label_classifier = Affine(width, num_labels, generator) if config.needs_labels else None

    def forward(self, batch: BagBatch, num_bags: int, num_targets: int) -> dict[str, Tensor]:
        """Return the weighted terms by name; their sum is the loss."""
        return self.terms(self.extractor.encode(batch.sentences), batch, num_bags, num_targets)

    def terms(
        self, vector_SD: Tensor, batch: BagBatch, num_bags: int | Tensor, num_targets: int | Tensor
    ) -> dict[str, Tensor]:
        """Return the weighted terms for encoded sentences.

        Sums are divided by the sizes of the whole batch (at least 1), so that the losses of its shards add up.
        """
        num_sentences = batch.bags.num_sentences
        logit_BR = self.extractor.classify(vector_SD[:num_sentences], batch.bags)
        terms = {"bag": self._bag_term(logit_BR, batch, num_bags)}
        logit_S = self.extractor.aggregator.sentence_logit(vector_SD) if self.config.sentence else None
        if logit_S is not None:
            terms["sentence"] = self.config.sentence * sentence_term(logit_S, batch.target_S, num_targets)
        if self.label_classifier is not None and batch.labels is not None:
            logit_LC = self.label_classifier(vector_SD[batch.labels.sentence_L])
            terms["direct_relations"] = self.config.direct_relations * label_term(logit_LC, batch.labels)
        if self.config.distractor:
            terms["distractor"] = self.config.distractor * self._distractor_term(vector_SD, batch, num_bags)
        if batch.marks is not None:
            terms |= self._mark_terms(vector_SD, batch.marks)
        return terms

    def _bag_term(self, logit_BR: Tensor, batch: BagBatch, num_bags: int | Tensor) -> Tensor:
        if self.config.known_share == 1 and batch.weight_BR is None:
            return bag_term(logit_BR, batch.label_BR, num_bags)
        weight_BR = torch.ones_like(logit_BR) if batch.weight_BR is None else batch.weight_BR
        return incomplete_term(logit_BR, batch.label_BR, weight_BR, self.config.known_share, self.shard) / num_bags

    def _mark_terms(self, vector_SD: Tensor, marks: MarkBatch) -> dict[str, Tensor]:
        """Return the loss terms for marked sentences' own scores."""
        extractor, config = self.extractor, self.config
        score_KR = extractor.aggregator.own_score(vector_SD[marks.sentence_K], extractor.scorer)
        score_K = score_KR.gather(1, marks.relation_K[:, None])[:, 0]
        terms = {}
        if config.mark_score:
            terms["mark_score"] = config.mark_score * mark_score_term(score_K, marks)
        if config.mark_ranking:
            terms["mark_ranking"] = config.mark_ranking * mark_ranking_term(score_K, marks)
        return terms

    def _distractor_term(self, vector_SD: Tensor, batch: BagBatch, num_bags: int | Tensor) -> Tensor:
        """Return Σ max(0, γ + GI(s′) − max GI of the bag's own sentences) + |GI(s′)| over augmented bags."""
        place_G, group_G = augmented_bags(batch)
        itself_M = (place_G >= batch.bags.num_sentences).nonzero()[:, 0]
        bag_M = batch.distractor_bag_M
        bags = BagIndex(bag_N=group_G, head_B=batch.bags.head_B[bag_M], tail_B=batch.bags.tail_B[bag_M])
        distractor_M, own_M = augmented_scores(
            self.extractor, self.config, vector_SD[place_G], bags, batch.distractor_relation_M, itself_M
        )
        return distractor_term(distractor_M, own_M, self.config.margin).sum() / num_bags


def augmented_scores(
    extractor: Extractor, config: LossConfig, vector_GD: Tensor, bags: BagIndex, relation_M: Tensor, itself_M: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the distractor's score (at `itself_M`) and the best score of the other sentences in each augmented bag."""
    measure = saliency if config.distractor_measure == "saliency" else gradient_x_input
    score_GR = measure(extractor, vector_GD, bags)
    score_G = score_GR.gather(1, relation_M[bags.bag_N, None])[:, 0]
    if config.distractor_measure == "positive_part":
        score_G = score_G.relu()
    own_M = bag_max(score_G.index_fill(0, itself_M, -torch.inf), bags.bag_N, bags.num_bags)
    return score_G[itself_M], own_M


def bag_term(logit_BR: Tensor, label_BR: Tensor, num_bags: int | Tensor) -> Tensor:
    """Return the binary cross-entropy, summed over bags and relations, per bag of the whole batch (paper, eq. 6)."""
    return nn.functional.binary_cross_entropy_with_logits(logit_BR, label_BR, reduction="sum") / num_bags


def incomplete_term(
    logit_BR: Tensor, label_BR: Tensor, weight_BR: Tensor, known_share: float, shard: ProcessShard
) -> Tensor:
    """Return the non-negative PU risk of Kiryo et al. 2017, summed over relations and multiplied by the batch's bags.

    Per relation, with prior π, logistic loss ℓ, positives P and a sample U of all bags, their risk estimator is

        π · mean over P of ℓ(o, +1) + max(0, mean over U of ℓ(o, −1) − π · mean over P of ℓ(o, −1))

    The prior is the labelled fraction of the bags divided by c = `known_share`, the label frequency of Elkan and Noto
    2008, so that it needs no estimate per relation. With the whole batch as U, the risk times the number of bags is

        (1/c) Σ over P of ℓ(o, +1) + max(0, Σ over unlabelled bags of w ℓ(o, −1) − (1/c − 1) Σ over P of ℓ(o, −1))

    which is the binary cross-entropy if c = 1. `weight_BR` is w, our addition.
    """
    positive_R = (label_BR * nn.functional.softplus(-logit_BR)).sum(0) / known_share
    negative_BR = (1.0 - label_BR) * weight_BR - (1.0 / known_share - 1.0) * label_BR
    negative_R = (negative_BR * nn.functional.softplus(logit_BR)).sum(0)
    # The sign is that of the whole batch, of which this may be one process's shard; with `train.tokens_at_once`, it is
    # that of each part, because the parts of a batch are never in memory together.
    is_positive_R = sum_over_shards(negative_R.detach().clone(), shard) > 0
    return (positive_R + is_positive_R * negative_R).sum()


def sentence_term(logit_S: Tensor, target_S: Tensor, num_targets: int | Tensor) -> Tensor:
    """Return the mean binary cross-entropy of the sentences that have a target."""
    has_target_S = ~target_S.isnan()
    # Masked rather than selected: the shape does not depend on the data, so nothing waits for the device.
    target_S = target_S.nan_to_num(0.0)
    loss_S = nn.functional.binary_cross_entropy_with_logits(logit_S, target_S, reduction="none")
    return (loss_S * has_target_S).sum() / num_targets


def label_term(logit_LC: Tensor, labels: LabelBatch) -> Tensor:
    """Return the mean cross-entropy of the directly supervised sentences' relation labels."""
    loss_L = nn.functional.cross_entropy(logit_LC, labels.label_L, reduction="none")
    return (labels.weight_L * loss_L).sum()


def distractor_term(distractor_M: Tensor, own_M: Tensor, margin: float) -> Tensor:
    """Return max(0, γ + GI(s′) − max GI) + |GI(s′)| for each augmented bag (paper, eq. 7)."""
    return (margin + distractor_M - own_M).relu() + distractor_M.abs()


def mark_score_term(score_K: Tensor, marks: MarkBatch) -> Tensor:
    """Return the mean binary cross-entropy of the marked sentences' own scores for the relation of the mark."""
    target_K = marks.target_K.to(score_K.dtype)
    loss_K = nn.functional.binary_cross_entropy_with_logits(score_K, target_K, reduction="none")
    return (marks.weight_K * loss_K).sum()


def mark_ranking_term(score_K: Tensor, marks: MarkBatch) -> Tensor:
    """Return the mean of softplus(irrelevant − rationale) over the pairs of a fact, then over the facts with both.

    With attention this is −log(a / (a + b)) for a rationale with weight a and an irrelevant sentence with weight b.
    """
    loss_P = nn.functional.softplus(score_K[marks.irrelevant_P] - score_K[marks.rationale_P])
    return (marks.weight_P * loss_P).sum()


def augmented_bags(batch: BagBatch) -> tuple[Tensor, Tensor]:
    """Return the rows of each augmented bag (its sentences, then the distractor), and the bag of each row."""
    num_sentences, num_bags = batch.bags.num_sentences, batch.bags.num_bags
    device = batch.bags.bag_N.device
    size_B = torch.bincount(batch.bags.bag_N, minlength=num_bags)
    first_B = size_B.cumsum(0) - size_B
    size_M = size_B[batch.distractor_bag_M] + 1
    start_M = size_M.cumsum(0) - size_M
    group_G = torch.repeat_interleave(torch.arange(len(size_M), device=device), size_M)
    rank_G = torch.arange(len(group_G), device=device) - start_M[group_G]
    is_distractor_G = rank_G == size_M[group_G] - 1
    own_G = first_B[batch.distractor_bag_M][group_G] + rank_G
    return torch.where(is_distractor_G, num_sentences + group_G, own_G), group_G
