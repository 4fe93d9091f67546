"""The extractor's forward pass in ONNX operations: no gradients, no loops over bags, one token table.

It shares the extractor's weights. Shapes: S sentences (all in bags), T tokens of all sentences, concatenated,
B bags, R relations, D width of a sentence vector, F filters, G groups of windows.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from sayso.errors import UserError
from sayso.features.batch import BagIndex, SentenceBatch
from sayso.model.aggregators.attention import Attention
from sayso.model.aggregators.base import Aggregator
from sayso.model.aggregators.direct import Direct
from sayso.model.aggregators.noisy_or import NoisyOr
from sayso.model.encoders.cnn import CnnEncoder
from sayso.model.encoders.pcnn import NUM_PIECES, PcnnEncoder
from sayso.model.encoders.transformer import TransformerEncoder
from sayso.model.extractor import Extractor
from sayso.model.ragged import bag_max, bag_sum
from sayso.model.relation import RelationScorer

Forms = Mapping[type[nn.Module], Callable[..., Tensor]]


class WindowRows(NamedTuple):
    """The vector of each token, its sentence, its position in it, and the length of the sentence."""

    row_TD: Tensor
    sentence_T: Tensor
    place_T: Tensor
    length_T: Tensor


class FlatClassifier(nn.Module):
    """The part of the model after the encoder: from encoded sentences to logits."""

    def __init__(self, extractor: Extractor) -> None:
        super().__init__()
        self.aggregator, self.scorer, self.calibration = extractor.aggregator, extractor.scorer, extractor.calibration
        self._aggregate = _form_of(_AGGREGATORS, extractor.aggregator)

    def forward(self, vector_SD: Tensor, bags: BagIndex) -> Tensor:
        """Return logit_BR."""
        logit_BR = self._aggregate(self.aggregator, vector_SD, bags, self.scorer)
        return logit_BR if self.calibration is None else self.calibration(logit_BR)


class FlatExtractor(nn.Module):
    """The extractor as a function of plain tensors of any size."""

    token_table: Tensor

    def __init__(self, extractor: Extractor) -> None:
        super().__init__()
        self.encoder, self.classify = extractor.encoder, FlatClassifier(extractor)
        self.register_buffer("token_table", torch.cat([extractor.embedding.word_VW, extractor.embedding.type_KW]))
        self._encode = _form_of(_ENCODERS, extractor.encoder)

    def forward(
        self,
        token_T: Tensor,
        head_distance_T: Tensor,
        tail_distance_T: Tensor,
        piece_T: Tensor,
        start_S1: Tensor,
        bag_S: Tensor,
        head_B: Tensor,
        tail_B: Tensor,
    ) -> Tensor:
        """Return logit_BR."""
        sentences = SentenceBatch(
            token_T=token_T,
            head_distance_T=head_distance_T,
            tail_distance_T=tail_distance_T,
            piece_T=piece_T,
            start_S1=start_S1,
        )
        bags = BagIndex(bag_N=bag_S, head_B=head_B, tail_B=tail_B)
        logit_BR: Tensor = self.classify(self._encode(self.encoder, self.token_table, sentences), bags)
        return logit_BR


class FlatTransformer(nn.Module):
    """A model with a pretrained encoder as a function of padded subwords and the positions of the vectors to use."""

    def __init__(self, extractor: Extractor) -> None:
        super().__init__()
        assert isinstance(extractor.encoder, TransformerEncoder)
        if not extractor.encoder.can_pack:
            kind = extractor.encoder.pretrained.architecture["model_type"]
            raise UserError(f"encoders of type {kind} cannot be exported to ONNX yet")
        self.encoder, self.classify = extractor.encoder, FlatClassifier(extractor)
        self.networks = nn.ModuleList(extractor.encoder.networks)
        for network in extractor.encoder.networks:
            network.set_attn_implementation("eager")  # type: ignore[operator]

    def forward(
        self,
        id_SL: Tensor,
        length_S: Tensor,
        place_W: Tensor,
        owner_W: Tensor,
        weight_W: Tensor,
        bag_S: Tensor,
        head_B: Tensor,
        tail_B: Tensor,
    ) -> Tensor:
        """Return logit_BR."""
        is_there_SL = torch.arange(id_SL.shape[1]) < length_S[:, None]
        # A four-dimensional mask is used unchanged by every kind of encoder.
        mask_S11L = torch.where(is_there_SL, 0.0, torch.finfo(torch.float32).min)[:, None, None]
        state_SLH = self.networks[0].get_input_embeddings()(id_SL)  # type: ignore[operator]
        for network in self.networks:
            state_SLH = network(inputs_embeds=state_SLH, attention_mask=mask_S11L).last_hidden_state
        row_WH = state_SLH.reshape(-1, state_SLH.shape[2])[place_W] * weight_W[:, None]
        pooled_XH = row_WH.new_zeros(3 * id_SL.shape[0], row_WH.shape[1]).index_add(0, owner_W, row_WH)
        vector_SD = self.encoder.projection(pooled_XH.reshape(id_SL.shape[0], -1)).relu()
        logit_BR: Tensor = self.classify(vector_SD, BagIndex(bag_N=bag_S, head_B=head_B, tail_B=tail_B))
        return logit_BR


def _encode_cnn(encoder: CnnEncoder, token_table: Tensor, sentences: SentenceBatch) -> Tensor:
    rows = _rows(encoder, token_table, sentences)
    scores = []
    for weight in encoder.convolution.weights:
        is_window_T = rows.place_T <= (rows.length_T - len(weight)).clamp(min=0)
        scores.append(_window_scores(rows, weight).masked_fill(~is_window_T[:, None], -torch.inf))
    peak_SF = bag_max(torch.cat(scores, 1), rows.sentence_T, sentences.num_sentences)
    vector_SD: Tensor = encoder.projection((peak_SF + encoder.bias_F).relu()).relu()
    return vector_SD


def _encode_pcnn(encoder: PcnnEncoder, token_table: Tensor, sentences: SentenceBatch) -> Tensor:
    rows = _rows(encoder, token_table, sentences)
    (weight,) = encoder.convolution.weights
    score_TF = _window_scores(rows, weight, before=(len(weight) - 1) // 2)
    group_T = NUM_PIECES * rows.sentence_T + sentences.piece_T
    peak_GF = bag_max(score_TF, group_T, NUM_PIECES * sentences.num_sentences)
    is_empty_GF = peak_GF == -torch.inf
    piece_GF = (peak_GF.masked_fill(is_empty_GF, 0.0) + encoder.bias_F).tanh().masked_fill(is_empty_GF, 0.0)
    vector_SD: Tensor = encoder.projection(piece_GF.reshape(-1, NUM_PIECES * piece_GF.shape[1])).relu()
    return vector_SD


def _rows(encoder: CnnEncoder | PcnnEncoder, token_table: Tensor, sentences: SentenceBatch) -> WindowRows:
    position_TP = encoder.convolution.position(sentences)
    row_TD = torch.cat([nn.functional.embedding(sentences.token_T, token_table), position_TP], 1)
    # Each sentence but the first adds one at its first token; the cumulative sum is the sentence index.
    is_start_T = torch.zeros_like(sentences.token_T)
    is_start_T = is_start_T.scatter_add(0, sentences.start_S1[1:-1], torch.ones_like(sentences.start_S1[1:-1]))
    sentence_T = is_start_T.cumsum(0)
    place_T = torch.arange(sentences.token_T.shape[0]) - sentences.start_S1[sentence_T]
    return WindowRows(row_TD, sentence_T, place_T, sentences.length_S[sentence_T])


def _window_scores(rows: WindowRows, weight: Tensor, before: int = 0) -> Tensor:
    """Return each filter's value for the window that starts `before` tokens before each token, zero-padded."""
    total_TF = torch.zeros(1)
    place_T = torch.arange(rows.row_TD.shape[0])
    for tap, tap_FD in enumerate(weight):
        shift = tap - before
        index_T = (place_T + shift).clamp(min=0).minimum(place_T[-1])
        is_in_T = (rows.place_T + shift >= 0) & (rows.place_T + shift < rows.length_T)
        total_TF = total_TF + (rows.row_TD @ tap_FD.T)[index_T] * is_in_T[:, None]
    return total_TF


def _attend(aggregator: Attention, vector_SD: Tensor, bags: BagIndex, scorer: RelationScorer) -> Tensor:
    weight_SR = aggregator.weigh(vector_SD, bags, scorer)
    if scorer.entity is None:
        return aggregator(vector_SD, bags, scorer)  # type: ignore[no-any-return]
    text_SD = scorer.entity.project_text(vector_SD)
    text_BRD = bag_sum(weight_SR[:, :, None] * text_SD[:, None], bags.bag_N, bags.num_bags)
    state_BRD = (text_BRD + scorer.entity.project_pair(bags)[:, None]).relu()
    logit_BR = (state_BRD * scorer.relation_RD).sum(2) + scorer.bias_R
    return logit_BR if aggregator.context is None else logit_BR + aggregator.context(vector_SD, bags)


def _run(aggregator: Aggregator, vector_SD: Tensor, bags: BagIndex, scorer: RelationScorer) -> Tensor:
    return aggregator(vector_SD, bags, scorer)  # type: ignore[no-any-return]


_ENCODERS: Forms = {CnnEncoder: _encode_cnn, PcnnEncoder: _encode_pcnn}
_AGGREGATORS: Forms = {Attention: _attend, Direct: _run, NoisyOr: _run}


def _form_of(forms: Forms, module: nn.Module) -> Callable[..., Tensor]:
    if type(module) not in forms:
        known = ", ".join(kind.__name__ for kind in forms)
        raise UserError(f"{type(module).__name__} cannot be exported to ONNX yet; supported: {known}")
    return forms[type(module)]
