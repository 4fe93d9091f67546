"""The convolution of sentences whose distinct words were found beforehand: the shapes are the same in every step.

Shapes: T tokens, Y distinct words, V words, K types, W width of a word, L that width rounded up, Q distances, P width
of a distance, A columns of a table (see `kernels.base`), D = W + 2 P, G groups of windows, F filters.

What a step of training needs to know of its batch stands in tensors of fixed size, so that it can be captured once and
replayed. The table's rows are Y words, of which those beyond the batch's own are never looked up, and then all K types.
The distances to the head and to the tail have a table each. In bfloat16 the products with words are rounded, and the
gradient of their table; parameters and sums are float32.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import torch
from torch import Tensor

from sayso.model.convolution import Convolution
from sayso.model.embedding import TokenEmbedding
from sayso.model.encoders.base import Encoder
from sayso.model.kernels import kernel_for
from sayso.model.kernels.base import Codes, Rows, Tables, Windows
from sayso.model.position import PositionEmbedding
from sayso.model.window import flat
from sayso.train.gpu.distance_gradient import distance_gradients
from sayso.train.gpu.dropped_rows import Draws, dropped_rows, keep_factors

_ALIGNED = 8
"""Matrix products are fastest when rows are multiples of 16 bytes."""


@dataclass(frozen=True, kw_only=True)
class PreparedSentences:
    """Sentences as rows of tables: `codes` (whose tokens may be more than theirs) and the words to be looked up."""

    codes: Codes
    word_Y: Tensor


class PeakEncoder(Protocol):
    """An encoder that needs no more of a sentence than each filter's highest value in its groups of windows."""

    convolution: Convolution

    def from_peaks(self, peak_GF: Tensor) -> Tensor:
        """Return vector_SD."""


def peak_encoder(encoder: Encoder) -> PeakEncoder | None:
    """Return the encoder if it is of that kind."""
    return cast(PeakEncoder, encoder) if hasattr(encoder, "from_peaks") else None


def distance_rows(position: PositionEmbedding, distance_T: Tensor) -> Tensor:
    """Return each distance's row in the table of the head, or in that of the tail."""
    if position.form == "shared_unsigned":
        return distance_T.int().abs().clamp(max=position.cap)
    return distance_T.int().clamp(-position.cap, position.cap) + position.cap


def prepared_peaks(
    convolution: Convolution, embedding: TokenEmbedding, sentences: PreparedSentences, draws: Draws, dtype: torch.dtype
) -> Tensor:
    """Return peak_GF, as `Convolution` does, with products of this type."""
    type_KW, table_2QP = _dropped_parameters(convolution.position, embedding, draws)
    width = embedding.width
    padded = min(-(-width // _ALIGNED) * _ALIGNED, width + convolution.position.width)
    num_words = sentences.word_Y.shape[0]
    row_YL = embedding.word_VW.new_empty(num_words + type_KW.shape[0], padded, dtype=dtype)
    dropped_rows(embedding.word_VW, sentences.word_Y, row_YL[:num_words], draws)
    peak_GF: Tensor = _PreparedMax.apply(  # type: ignore[no-untyped-call]
        type_KW, table_2QP, row_YL, sentences.codes, convolution.windows, *convolution.weights
    )
    return peak_GF


def _dropped_parameters(position: PositionEmbedding, embedding: TokenEmbedding, draws: Draws) -> tuple[Tensor, Tensor]:
    """Return the types and the distances, both with dropout, the distances' table once for each mention."""
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
        weight_AD = _below_each_other(weights)
        num_types, width = type_KW.shape
        if num_types:
            row_YL[len(row_YL) - num_types :].zero_()[:, :width] = type_KW
        # Where the rows end in zeros, any number will do: those of the distances follow anyway.
        word_AL = torch.empty(len(weight_AD), row_YL.shape[1], dtype=row_YL.dtype, device=row_YL.device)
        word_AL.copy_(weight_AD[:, : row_YL.shape[1]])
        distance = table_2QP.shape[2]
        part_2AP = weight_AD[:, weight_AD.shape[1] - 2 * distance :].view(-1, 2, distance).transpose(0, 1)
        head_QA, tail_QA = torch.bmm(table_2QP, part_2AP.transpose(1, 2))
        tables = Tables(word_YA=row_YL @ word_AL.T, head_QA=head_QA, tail_QA=tail_QA)
        peak_GF, token_GF = kernel_for(row_YL.device, windows).peaks(tables, codes, windows)
        ctx.save_for_backward(table_2QP, weight_AD, row_YL, token_GF)
        ctx.num_types, ctx.width, ctx.codes, ctx.windows = num_types, width, codes, windows
        return peak_GF

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        table_2QP, weight_AD, row_YL, token_GF = ctx.saved_tensors
        windows = ctx.windows
        rows = Rows(row_YW=row_YL, num_learned=ctx.num_types, num_distances=table_2QP.shape[1])
        found = kernel_for(row_YL.device, windows).gradients(gradients[0], token_GF, rows, ctx.codes, windows)
        table, of_distances = distance_gradients(found.head_QA, found.tail_QA, table_2QP, weight_AD)
        weight = torch.cat([found.weight_AW[:, : ctx.width], *of_distances], 1)
        types = found.learned_UA @ weight_AD[:, : ctx.width] if ctx.num_types else None
        parts = torch.split(weight, [width * windows.num_filters for width in windows.widths])
        return types, table, None, None, None, *(part.view(-1, windows.num_filters, part.shape[1]) for part in parts)


def _below_each_other(weights: Sequence[Tensor]) -> Tensor:
    """Return weight_AD, without copying where the widths' filters lie one after the other in memory."""
    place = weights[0].data_ptr()
    for weight in weights:
        if weight.data_ptr() != place or not weight.is_contiguous():
            return flat(weights)
        place += weight.numel() * weight.element_size()
    width = weights[0].shape[2]
    return weights[0].as_strided((sum(weight.numel() for weight in weights) // width, width), (width, 1))
