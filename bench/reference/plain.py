"""Straightforward torch implementation of an `Extractor`: the code that both references share.

It copies the extractor's weights by their names in a model file, and trains them with autograd.
Shapes: B bags, N sentences of all bags, S all encoded sentences, D width of a sentence vector,
R relations, F filters of all widths.
"""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from sayso.features.batch import BagBatch, BagIndex, SentenceBatch
from sayso.model.encoders.cnn import CnnConfig
from sayso.model.extractor import Extractor

FROZEN = ("embedding.word_VW", "scorer.entity.entity_EV")
linear = nn.functional.linear


class PlainModel(ABC):
    """The forward pass; the references define how sentences are laid out and bags are reduced."""

    def __init__(self, extractor: Extractor) -> None:
        self.weight = {
            name: value.detach().clone().requires_grad_(name not in FROZEN)
            for name, value in extractor.state_dict().items()
        }
        encoder = extractor.config.encoder
        assert isinstance(encoder, CnnConfig)
        self.widths, self.form, self.cap = sorted(encoder.widths), encoder.positions, encoder.position_cap
        self.dropout = 0.0

    def parameters(self) -> list[Tensor]:
        """Return the trained parameters."""
        return [value for value in self.weight.values() if value.requires_grad]

    def __call__(self, batch: BagBatch) -> Tensor:
        """Return logit_BR."""
        return self.classify(self.encode(batch.sentences)[: batch.bags.num_sentences], batch.bags)

    def loss(self, batch: BagBatch, num_bags: int, num_targets: int) -> Tensor:
        """Return the training loss: the bag term, and the sentence term if the model classifies sentences."""
        vector_SD = self.encode(batch.sentences)
        logit_BR = self.classify(vector_SD[: batch.bags.num_sentences], batch.bags)
        cross_entropy = nn.functional.binary_cross_entropy_with_logits
        loss = cross_entropy(logit_BR, batch.label_BR, reduction="sum") / num_bags
        if not self._attends:
            has_target_S = ~batch.target_S.isnan()
            logit_S = self._sentence_logit(vector_SD[has_target_S])[:, 0]
            loss = loss + cross_entropy(logit_S, batch.target_S[has_target_S], reduction="sum") / max(num_targets, 1)
        return loss

    @abstractmethod
    def encode(self, sentences: SentenceBatch) -> Tensor:
        """Return vector_SD."""

    @abstractmethod
    def classify(self, vector_ND: Tensor, bags: BagIndex) -> Tensor:
        """Return logit_BR."""

    @property
    def _attends(self) -> bool:
        return "aggregator.query_RD" in self.weight

    def _embed(self, token: Tensor, head: Tensor, tail: Tensor) -> Tensor:
        """Return word or type ‖ distance to the head ‖ to the tail, with dropout on all three."""
        word_VW, type_KW = self.weight["embedding.word_VW"], self.weight["embedding.type_KW"]
        row = nn.functional.embedding(token.clamp(max=len(word_VW) - 1), word_VW)
        if len(type_KW):
            kind = nn.functional.embedding((token - len(word_VW)).clamp(min=0), type_KW)
            row = torch.where((token >= len(word_VW))[..., None], kind, row)
        table_QP = self.weight["encoder.convolution.position.table_QP"]
        places = [nn.functional.embedding(place, table_QP) for place in self._places(head, tail)]
        return nn.functional.dropout(torch.cat([row, *places], -1), self.dropout)

    def _places(self, head: Tensor, tail: Tensor) -> tuple[Tensor, Tensor]:
        if self.form == "shared_unsigned":
            return head.abs().clamp(max=self.cap), tail.abs().clamp(max=self.cap)
        head, tail = (distance.clamp(-self.cap, self.cap) + self.cap for distance in (head, tail))
        return head, tail + 2 * self.cap + 1

    def _convolve(self, row_SLD: Tensor, length_S: Tensor) -> Tensor:
        """Return each filter's maximum over the windows of each sentence, for zero-padded rows."""
        column_SDL, peaks = row_SLD.transpose(1, 2), []
        for number, width in enumerate(self.widths):
            weight_FDw = self.weight[f"encoder.convolution.weights.{number}"].permute(1, 2, 0)
            value_SFL = nn.functional.conv1d(column_SDL, weight_FDw)
            window_L = torch.arange(value_SFL.shape[2])
            is_outside_SL = window_L > (length_S - width).clamp(min=0)[:, None]
            peaks.append(value_SFL.masked_fill(is_outside_SL[:, None], -torch.inf).amax(2))
        return torch.cat(peaks, 1)

    def _project(self, peak_SF: Tensor) -> Tensor:
        hidden_SF = (peak_SF + self.weight["encoder.bias_F"]).relu()
        return linear(
            hidden_SF, self.weight["encoder.projection.weight"], self.weight["encoder.projection.bias"]
        ).relu()

    def _attend(self, vector_ND: Tensor) -> Tensor:
        """Return the scores of CNNs+ATT before the softmax."""
        return (vector_ND * self.weight["aggregator.diagonal_D"]) @ self.weight["aggregator.query_RD"].T

    def _sentence_logit(self, vector_ND: Tensor) -> Tensor:
        """Return DirectSup's logit_N1: the sentence expresses some relation."""
        return self._perceptron("aggregator.classifier", vector_ND)

    def _weigh(self, vector_ND: Tensor) -> Tensor:
        """Return DirectSup's weight_N1."""
        logit_N1 = self._sentence_logit(vector_ND)
        if "aggregator.second_map.hidden.weight" in self.weight:
            logit_N1 = self._perceptron("aggregator.second_map", logit_N1)
        return logit_N1.sigmoid()

    def _perceptron(self, name: str, value: Tensor) -> Tensor:
        hidden = linear(value, self.weight[f"{name}.hidden.weight"], self.weight[f"{name}.hidden.bias"]).relu()
        return linear(hidden, self.weight[f"{name}.output.weight"], self.weight[f"{name}.output.bias"])

    def _score(self, state: Tensor, head: Tensor, tail: Tensor) -> Tensor:
        """Return the logits for x̄, [..., R or 1, D], of bags with these entities; with +E if the model has it."""
        entity_EV = self.weight.get("scorer.entity.entity_EV")
        if entity_EV is not None:
            head_V, tail_V = nn.functional.embedding(head, entity_EV), nn.functional.embedding(tail, entity_EV)
            pair = linear(torch.cat([head_V - tail_V, head_V * tail_V], -1), self.weight["scorer.entity.pair_DV"])
            text = state @ self.weight["scorer.entity.text_DD"].T
            state = (text + pair[..., None, :] + self.weight["scorer.entity.bias_D"]).relu()
        return (state * self.weight["scorer.relation_RD"]).sum(-1) + self.weight["scorer.bias_R"]
