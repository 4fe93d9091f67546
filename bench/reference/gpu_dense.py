"""A conventional GPU training step: padded sentences, dense convolution, compiled, captured, bf16.

Shapes: N sentences, B bags, L tokens of a padded sentence, F filters, D width of a token, R relations.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sayso.features.batch import BagBatch
from sayso.model.aggregators.attention import Attention
from sayso.model.encoders.cnn import CnnEncoder
from sayso.model.extractor import Extractor


@dataclass(frozen=True)
class DenseBatch:
    """Padded sentences (tokens, distances, lengths, bag of each) and the bags' labels."""

    token_NL: Tensor
    head_NL: Tensor
    tail_NL: Tensor
    length_N: Tensor
    bag_N: Tensor
    label_BR: Tensor


class DenseModel(nn.Module):
    """CNNs+ATT with the weights of an extractor."""

    def __init__(self, extractor: Extractor) -> None:
        super().__init__()
        encoder, aggregator = extractor.encoder, extractor.aggregator
        assert isinstance(encoder, CnnEncoder)
        assert isinstance(aggregator, Attention)
        position = encoder.convolution.position
        self.register_buffer("word", extractor.embedding.word_VW.clone())
        self.position = nn.Parameter(position.table_QP.detach().clone())
        self.cap = position.cap
        self.filters = nn.ParameterList(w.detach().permute(1, 2, 0).clone() for w in encoder.convolution.weights)
        self.filter_bias = nn.Parameter(encoder.bias_F.detach().clone())
        self.weight = nn.Parameter(encoder.projection.weight.detach().clone())
        self.bias = nn.Parameter(encoder.projection.bias.detach().clone())
        self.query = nn.Parameter(aggregator.query_RD.detach().clone())
        self.diagonal = nn.Parameter(aggregator.diagonal_D.detach().clone())
        self.relation = nn.Parameter(extractor.scorer.relation_RD.detach().clone())
        self.relation_bias = nn.Parameter(extractor.scorer.bias_R.detach().clone())
        self.dropout = nn.Dropout(encoder.convolution.dropout.num_dropped / 2**16)

    def forward(self, batch: DenseBatch) -> Tensor:
        """Return the loss: binary cross-entropy per bag, summed over relations."""
        vector_ND = self.encode(batch)
        num_bags = batch.label_BR.shape[0]
        score_NR = vector_ND @ (self.diagonal * self.query).T
        index_NR = batch.bag_N[:, None].expand_as(score_NR)
        peak_BR = score_NR.new_full((num_bags, score_NR.shape[1]), -torch.inf)
        peak_BR = peak_BR.scatter_reduce(0, index_NR, score_NR.detach(), reduce="amax")
        mass_NR = (score_NR - peak_BR[batch.bag_N]).exp()
        total_BR = mass_NR.new_zeros(peak_BR.shape).index_add(0, batch.bag_N, mass_NR)
        match_NR = mass_NR * (vector_ND @ self.relation.T)
        logit_BR = mass_NR.new_zeros(peak_BR.shape).index_add(0, batch.bag_N, match_NR.to(mass_NR.dtype))
        logit_BR = (logit_BR / total_BR).float() + self.relation_bias
        return nn.functional.binary_cross_entropy_with_logits(logit_BR, batch.label_BR, reduction="sum") / num_bags

    def encode(self, batch: DenseBatch) -> Tensor:
        """Return vector_ND."""
        num_rows = 2 * self.cap + 1
        row_NL = [
            nn.functional.embedding(batch.token_NL, self.word),
            nn.functional.embedding(batch.head_NL.clamp(-self.cap, self.cap) + self.cap, self.position),
            nn.functional.embedding(batch.tail_NL.clamp(-self.cap, self.cap) + self.cap + num_rows, self.position),
        ]
        row_NDL = self.dropout(torch.cat(row_NL, 2)).transpose(1, 2)
        place_L = torch.arange(batch.token_NL.shape[1], device=batch.token_NL.device)
        peaks = []
        for weight in self.filters:
            score_NFL = nn.functional.conv1d(row_NDL, weight)
            last_N1 = (batch.length_N[:, None] - weight.shape[2]).clamp(min=0)
            is_window_NL = place_L[: score_NFL.shape[2]] <= last_N1
            peaks.append(score_NFL.masked_fill(~is_window_NL[:, None], -torch.inf).amax(2))
        peak_NF = torch.cat(peaks, 1)
        return nn.functional.linear((peak_NF + self.filter_bias).relu(), self.weight, self.bias).relu()


def dense_batch(batch: BagBatch, num_tokens: int) -> DenseBatch:
    """Return the batch padded to this many tokens; longer sentences are truncated."""
    sentences = batch.sentences
    length_N = sentences.length_S.clamp(max=num_tokens)
    place_NL = torch.arange(num_tokens, device=length_N.device).expand(len(length_N), -1)
    is_in_NL = place_NL < length_N[:, None]
    index_NL = (sentences.start_S1[:-1, None] + place_NL).clamp(max=len(sentences.token_T) - 1)
    columns = (sentences.token_T, sentences.head_distance_T, sentences.tail_distance_T)
    padded = [column[index_NL] * is_in_NL for column in columns]
    return DenseBatch(*padded, length_N, batch.bags.bag_N, batch.label_BR)


def captured_step(model: DenseModel, batch: DenseBatch, clip: float) -> Callable[[], None]:
    """Return a function that runs one training step on this batch: autocast, Adam, one graph."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True, capturable=True)
    loss_of = torch.compile(model)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16):
            loss = loss_of(batch)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            step()
    torch.cuda.synchronize()
    return graph.replay
