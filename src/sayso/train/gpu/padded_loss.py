"""The loss of a padded step: the terms of `objective`, with weights in place of sizes, so that padding counts nowhere.

Shapes: B bags with one spare bag, N sentences of bags, M distractors (M1: with one spare), S all sentences, G sentences
of augmented bags, D width of a sentence vector, R relations.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from sayso.features.batch import BagIndex
from sayso.model.aggregators.attention import Attention
from sayso.model.encoders.cnn import CnnEncoder
from sayso.model.extractor import Extractor
from sayso.model.kernels.base import Codes
from sayso.train.config import LossConfig
from sayso.train.gpu.attention_loss import LabelledBags, attention_loss, fits_attention_loss
from sayso.train.gpu.dropped_rows import Draws
from sayso.train.gpu.prepared import PreparedSentences, peak_encoder, prepared_peaks
from sayso.train.gpu.projection import projected
from sayso.train.objective import augmented_scores, distractor_term

Fields = Mapping[str, Tensor]
"""The fields of one step of a `PaddedEpoch`."""


class PaddedLoss:
    """A model and its loss for padded steps; products with words are of type `dtype`."""

    def __init__(self, extractor: Extractor, config: LossConfig, dtype: torch.dtype) -> None:
        self.extractor, self.config, self.dtype = extractor, config, dtype

    def terms(self, fields: Fields, codes: Codes, draws: Draws) -> dict[str, Tensor]:
        """Return the terms by name, each with its weight, so that their sum is the loss."""
        vector_SD = self._encode(PreparedSentences(codes=codes, word_Y=fields["word_Y"]), draws)
        num_sentences = fields["bag_N"].shape[0]
        # A slice of all would cost two kernels on the way back.
        vector_ND = vector_SD if num_sentences == len(vector_SD) else vector_SD[:num_sentences].contiguous()
        terms = {"bag": self._bag_term(vector_ND, fields)}
        logit_S = self.extractor.aggregator.sentence_logit(vector_SD) if self.config.sentence else None
        if logit_S is not None:
            terms["sentence"] = self.config.sentence * _sentence_term(logit_S, fields)
        if self.config.distractor:
            terms["distractor"] = self.config.distractor * self._distractor_term(vector_SD, fields)
        return terms

    def _encode(self, sentences: PreparedSentences, draws: Draws) -> Tensor:
        encoder = peak_encoder(self.extractor.encoder)
        assert encoder is not None
        peaks = prepared_peaks(encoder.convolution, self.extractor.embedding, sentences, draws, self.dtype)
        if isinstance(encoder, CnnEncoder) and peaks.is_cuda:
            return projected(peaks, encoder.bias_F, encoder.projection.weight, encoder.projection.bias)
        return encoder.from_peaks(peaks)

    def _bag_term(self, vector_ND: Tensor, fields: Fields) -> Tensor:
        aggregator, scorer, label_BR = self.extractor.aggregator, self.extractor.scorer, fields["label_BR"]
        is_plain = isinstance(aggregator, Attention) and scorer.entity is None
        if is_plain and vector_ND.is_cuda and fits_attention_loss(*scorer.relation_RD.shape):
            assert isinstance(aggregator, Attention)
            bags = LabelledBags(fields["start_B1"], label_BR, fields["weight_B"])
            parameters = (aggregator.diagonal_D, aggregator.query_RD, scorer.relation_RD, scorer.bias_R)
            return attention_loss(vector_ND, *parameters, bags)
        index = BagIndex(bag_N=fields["bag_N"], head_B=fields["head_B"], tail_B=fields["tail_B"])
        logit_BR = self.extractor.classify(vector_ND, index)
        loss_BR = nn.functional.binary_cross_entropy_with_logits(logit_BR, label_BR, reduction="none")
        return (loss_BR * fields["weight_B"][:, None]).sum()

    def _distractor_term(self, vector_SD: Tensor, fields: Fields) -> Tensor:
        bag_M1, relation_M1, weight_M = (fields[f"distractor_{name}"] for name in ("bag_M1", "relation_M1", "weight_M"))
        bags = BagIndex(bag_N=fields["group_G"], head_B=fields["head_B"][bag_M1], tail_B=fields["tail_B"][bag_M1])
        vector_GD = vector_SD[fields["place_G"]]
        distractor_M, own_M1 = augmented_scores(
            self.extractor, self.config, vector_GD, bags, relation_M1, fields["itself_M"]
        )
        loss_M = distractor_term(distractor_M, own_M1[: len(weight_M)], self.config.margin)
        return (loss_M * weight_M).sum()


def _sentence_term(logit_S: Tensor, fields: Fields) -> Tensor:
    """Return the mean binary cross-entropy of the sentences that have a target."""
    target_S = fields["target_S"]
    loss_S = nn.functional.binary_cross_entropy_with_logits(logit_S, target_S.nan_to_num(0.0), reduction="none")
    return (loss_S * ~target_S.isnan()).sum() * fields["target_weight_1"][0]
