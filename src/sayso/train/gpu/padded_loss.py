"""The loss of a padded step: the terms of `objective`, with weights instead of sizes, so that padding has no effect.

Shapes: B bags with one spare bag, N sentences of bags, M distractors (M1: with one spare), S all sentences, G sentences
of augmented bags (in `peak_GF`, groups of windows), D width of a sentence vector (in `weight_AD`, W + 2 P), R
relations, T tokens, Y distinct words, V words, K types, W width of a word, L that width rounded up, Q distances, P
width of a distance, A columns of a table (see `kernels.base`), F filters.

All that a step reads is in tensors of fixed size, so that it can be captured once and replayed. The rows of the word
table are Y words (those beyond the batch's own are never looked up), then all K types. Distances to the head and to the
tail have a table each. In bfloat16, the products with words and the gradient of their table are rounded; parameters and
sums are float32.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

import torch
from torch import Tensor, nn

from sayso.features.batch import BagIndex
from sayso.model.aggregators.attention import Attention
from sayso.model.convolution import Convolution, flat
from sayso.model.embedding import PositionEmbedding, TokenEmbedding
from sayso.model.encoders.base import Encoder
from sayso.model.encoders.cnn import CnnEncoder
from sayso.model.extractor import Extractor
from sayso.model.kernels import kernel_for
from sayso.model.kernels.base import Codes, ProductTables, TokenRows, Windows
from sayso.train.config import LossConfig
from sayso.train.gpu.attention_loss import LabelledBags, attention_loss, fits_attention_loss
from sayso.train.gpu.encoder_kernels import Draws, distance_gradients, dropped_rows, keep_factors, projected
from sayso.train.objective import augmented_scores, distractor_term

_ALIGNED = 8
"""Matrix products are fastest when rows are multiples of 16 bytes."""


class PeakEncoder(Protocol):
    """An encoder that uses only each filter's highest value in a sentence's groups of windows."""

    convolution: Convolution

    def from_peaks(self, peak_GF: Tensor) -> Tensor:
        """Return vector_SD."""


def peak_encoder(encoder: Encoder) -> PeakEncoder | None:
    """Return the encoder if it is a `PeakEncoder`, else None."""
    return cast(PeakEncoder, encoder) if hasattr(encoder, "from_peaks") else None


def prepared_peaks(
    convolution: Convolution, embedding: TokenEmbedding, codes: Codes, word_Y: Tensor, draws: Draws, dtype: torch.dtype
) -> Tensor:
    """Return peak_GF, as `Convolution` does, with products of type `dtype`; the words to look up are `word_Y`."""
    type_KW, table_2QP = _dropped_parameters(convolution.position, embedding, draws)
    width = embedding.width
    padded = min(-(-width // _ALIGNED) * _ALIGNED, width + convolution.position.width)
    num_words = word_Y.shape[0]
    row_YL = embedding.word_VW.new_empty(num_words + type_KW.shape[0], padded, dtype=dtype)
    dropped_rows(embedding.word_VW, word_Y, row_YL[:num_words], draws)
    peak_GF: Tensor = _PreparedMax.apply(  # type: ignore[no-untyped-call]
        type_KW, table_2QP, row_YL, codes, convolution.windows, *convolution.weights
    )
    return peak_GF


def _dropped_parameters(position: PositionEmbedding, embedding: TokenEmbedding, draws: Draws) -> tuple[Tensor, Tensor]:
    """Return types and distances with dropout, with one table of distances per mention."""
    type_KW: Tensor = embedding.type_KW
    table_QP: Tensor = position.table_QP
    if draws.num_dropped:
        factor = keep_factors(table_QP.numel() + type_KW.numel(), draws)
        table_QP = table_QP * factor[: table_QP.numel()].view_as(table_QP)
        if type_KW.numel():
            type_KW = type_KW * factor[table_QP.numel() :].view_as(type_KW)
    if position.form == "shared_unsigned":
        return type_KW, table_QP.expand(2, *table_QP.shape)
    return type_KW, table_QP.view(2, -1, table_QP.shape[1])


class _PreparedMax(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, type_KW: Tensor, table_2QP: Tensor, row_YL: Tensor, codes: Codes, windows: Windows, *weights: Tensor
    ) -> Tensor:
        weight_AD = _stacked(weights)
        num_types, width = type_KW.shape
        if num_types:
            row_YL[len(row_YL) - num_types :].zero_()[:, :width] = type_KW
        # The padding of the rows is zero, so these columns may hold anything: here, those of the distances.
        word_AL = torch.empty(len(weight_AD), row_YL.shape[1], dtype=row_YL.dtype, device=row_YL.device)
        word_AL.copy_(weight_AD[:, : row_YL.shape[1]])
        distance = table_2QP.shape[2]
        part_2AP = weight_AD[:, weight_AD.shape[1] - 2 * distance :].view(-1, 2, distance).transpose(0, 1)
        head_QA, tail_QA = torch.bmm(table_2QP, part_2AP.transpose(1, 2))
        tables = ProductTables(word_YA=row_YL @ word_AL.T, head_QA=head_QA, tail_QA=tail_QA)
        peak_GF, token_GF = kernel_for(row_YL.device, windows).peaks(tables, codes, windows)
        ctx.save_for_backward(table_2QP, weight_AD, row_YL, token_GF)
        ctx.num_types, ctx.width, ctx.codes, ctx.windows = num_types, width, codes, windows
        return peak_GF

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        table_2QP, weight_AD, row_YL, token_GF = ctx.saved_tensors
        windows = ctx.windows
        rows = TokenRows(row_YW=row_YL, num_learned=ctx.num_types, num_distances=table_2QP.shape[1])
        found = kernel_for(row_YL.device, windows).gradients(gradients[0], token_GF, rows, ctx.codes, windows)
        table, part_2AP = distance_gradients(found.head_QA, found.tail_QA, table_2QP, weight_AD)
        weight = torch.cat([found.weight_AW[:, : ctx.width], *part_2AP], 1)
        types = found.learned_UA @ weight_AD[:, : ctx.width] if ctx.num_types else None
        parts = torch.split(weight, [width * windows.num_filters for width in windows.widths])
        return types, table, None, None, None, *(part.view(-1, windows.num_filters, part.shape[1]) for part in parts)


def _stacked(weights: Sequence[Tensor]) -> Tensor:
    """Return the filters of all widths stacked as weight_AD; a view if they are contiguous in memory."""
    place = weights[0].data_ptr()
    for weight in weights:
        if weight.data_ptr() != place or not weight.is_contiguous():
            return flat(weights)
        place += weight.numel() * weight.element_size()
    width = weights[0].shape[2]
    return weights[0].as_strided((sum(weight.numel() for weight in weights) // width, width), (width, 1))


Fields = Mapping[str, Tensor]
"""The fields of one step of a `PaddedEpoch`."""


class PaddedLoss:
    """A model and its loss for padded steps; products with words are of type `dtype`."""

    def __init__(self, extractor: Extractor, config: LossConfig, dtype: torch.dtype) -> None:
        self.extractor, self.config, self.dtype = extractor, config, dtype

    def terms(self, fields: Fields, codes: Codes, draws: Draws) -> dict[str, Tensor]:
        """Return the weighted terms by name; their sum is the loss."""
        vector_SD = self._encode(codes, fields["word_Y"], draws)
        num_sentences = fields["bag_N"].shape[0]
        # Slicing everything would cost two kernels in the backward pass.
        vector_ND = vector_SD if num_sentences == len(vector_SD) else vector_SD[:num_sentences].contiguous()
        terms = {"bag": self._bag_term(vector_ND, fields)}
        logit_S = self.extractor.aggregator.sentence_logit(vector_SD) if self.config.sentence else None
        if logit_S is not None:
            terms["sentence"] = self.config.sentence * _sentence_term(logit_S, fields)
        if self.config.distractor:
            terms["distractor"] = self.config.distractor * self._distractor_term(vector_SD, fields)
        return terms

    def _encode(self, codes: Codes, word_Y: Tensor, draws: Draws) -> Tensor:
        encoder = peak_encoder(self.extractor.encoder)
        assert encoder is not None
        peaks = prepared_peaks(encoder.convolution, self.extractor.embedding, codes, word_Y, draws, self.dtype)
        if isinstance(encoder, CnnEncoder) and peaks.is_cuda:
            return projected(peaks, encoder.bias_F, encoder.projection.weight, encoder.projection.bias)
        return encoder.from_peaks(peaks)

    def _bag_term(self, vector_ND: Tensor, fields: Fields) -> Tensor:
        aggregator, scorer, label_BR = self.extractor.aggregator, self.extractor.scorer, fields["label_BR"]
        is_plain = isinstance(aggregator, Attention) and aggregator.context is None and scorer.entity is None
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
