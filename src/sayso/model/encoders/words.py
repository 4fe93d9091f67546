"""A bag of features, as a baseline: the words between the mentions and their number, the mentions, and which is first.

Features have learned vectors that are added up, as in fastText (Joulin et al. 2017). Shapes: S sentences, T tokens,
F features of all sentences, H rows of the feature table, D width of a sentence vector, W width of a word vector.
"""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import torch
from torch import Tensor, nn

from sayso.config import Range, check_ranges
from sayso.features.batch import SentenceBatch
from sayso.model.embedding import DistinctRows, TokenEmbedding
from sayso.model.encoders.base import Encoder, EncoderConfig, ModelTables
from sayso.model.layers import Affine, TokenDropout

_SPREAD = 0x9E3779B97F4A7C15 - 2**64
"""Multiplies a feature's number, so that neighbouring numbers get rows far apart; an odd 64-bit integer."""


@dataclass(frozen=True, kw_only=True)
class WordsConfig(EncoderConfig):
    """Settings of the bag of features; rows of the table are chosen by hashing, so features may share one."""

    output_width: Annotated[int, Range(1, 10_000)] = 100
    table_rows: Annotated[int, Range(1, 10_000_000)] = 32_768
    max_words: Annotated[int, Range(0, 10_000)] = 10
    dropout: Annotated[float, Range(0, 1, below=True)] = 0.1

    def __post_init__(self) -> None:
        check_ranges(self)


class Features(NamedTuple):
    """The row of each feature in the table, and its sentence; those of single words come first."""

    row_F: Tensor
    sentence_F: Tensor


class WordsBetween(NamedTuple):
    """The words between the mentions: each token's sentence, whether it is such a word, and which mention is first."""

    sentence_T: Tensor
    is_between_T: Tensor
    is_head_first_S: Tensor


class WordsEncoder(Encoder):
    """ReLU(Σ over features of their vectors + P [mean vectors of head, tail and words between, by order] + b)."""

    def __init__(self, config: WordsConfig, tables: ModelTables, generator: torch.Generator) -> None:
        super().__init__(config, tables, generator)
        self.width, self.max_words = config.output_width, config.max_words
        self.table_HD = nn.Parameter(torch.zeros(config.table_rows, config.output_width))
        self.dropout = TokenDropout(config.dropout)
        self.projection = Affine(4 * tables.word_VW.shape[1], config.output_width, generator)

    def forward(self, embedding: TokenEmbedding, sentences: SentenceBatch) -> Tensor:
        """Return vector_SD."""
        between, distinct = self._words_between(sentences), embedding(sentences)
        found = self._features(sentences, between)
        value_FD: Tensor = self.dropout(nn.functional.embedding(found.row_F, self.table_HD))
        mean_SD: Tensor = self.projection(_means(distinct, sentences, between))
        return mean_SD.index_add(0, found.sentence_F, value_FD).relu()

    def token_scores(self, embedding: TokenEmbedding, sentences: SentenceBatch, gradient_SD: Tensor) -> Tensor:
        """Return score_T, gradient times input on tokens' vectors and on the features of words between the mentions."""
        score_T = super().token_scores(embedding, sentences, gradient_SD)
        between = self._words_between(sentences)
        row_F, sentence_F = self._features(sentences, between)
        with torch.no_grad():
            gradient_SD = gradient_SD * (self(embedding, sentences) > 0)
            num_words = int(between.is_between_T.sum())
            credit_FD = self.table_HD[row_F[:num_words]] * gradient_SD[sentence_F[:num_words]]
        score_T[between.is_between_T] += credit_FD.sum(1)
        return score_T

    def _words_between(self, sentences: SentenceBatch) -> WordsBetween:
        every_S = torch.arange(sentences.num_sentences, device=sentences.token_T.device)
        sentence_T = torch.repeat_interleave(every_S, sentences.length_S)
        is_inside_T = (sentences.piece_T == 1) & (sentences.head_distance_T != 0) & (sentences.tail_distance_T != 0)
        before_T1 = torch.cat([is_inside_T.new_zeros(1, dtype=torch.long), is_inside_T.cumsum(0)])
        rank_T = before_T1[:-1] - before_T1[sentences.start_S1[:-1]][sentence_T]
        is_head_T = (sentences.head_distance_T == 0) & (sentences.piece_T == 0)
        is_head_first_S = torch.zeros_like(every_S).index_add(0, sentence_T, is_head_T.long()) > 0
        return WordsBetween(sentence_T, is_inside_T & (rank_T < self.max_words), is_head_first_S)

    def _features(self, sentences: SentenceBatch, between: WordsBetween) -> Features:
        """Return the features of all sentences: the words between the mentions, their number, and the mentions."""
        sentence_T, word = between.sentence_T, between.is_between_T.nonzero()[:, 0]
        num_S = torch.bincount(sentence_T[word], minlength=sentences.num_sentences)
        distances = (sentences.head_distance_T, sentences.tail_distance_T)
        head_S, tail_S = (_first_token(sentences, sentence_T, distance_T) for distance_T in distances)
        every_S = torch.arange(sentences.num_sentences, device=sentence_T.device)
        values = [sentences.token_T[word], num_S, head_S * 2**31 + tail_S]
        owners = [sentence_T[word], every_S, every_S]
        sentence_F = torch.cat(owners)
        kind_F = torch.cat([torch.full_like(owner, kind) for kind, owner in enumerate(owners)])
        number_F = (torch.cat(values) * 4 + kind_F) * 2 + between.is_head_first_S[sentence_F]
        # The upper bits of the product depend on all bits of the number.
        row_F = (number_F * _SPREAD >> 20) % self.table_HD.shape[0]
        return Features(row_F, sentence_F)


def _means(distinct: DistinctRows, sentences: SentenceBatch, between: WordsBetween) -> Tensor:
    """Return the mean vectors of head, tail, the words between them if the head is first, and if the tail is first."""
    is_first_T = between.is_head_first_S[between.sentence_T]
    chosen = (
        sentences.head_distance_T == 0,
        sentences.tail_distance_T == 0,
        between.is_between_T & is_first_T,
        between.is_between_T & ~is_first_T,
    )
    means = []
    for is_in_T in chosen:
        owner, row = between.sentence_T[is_in_T], distinct.row_YW[distinct.index_T[is_in_T]]
        num_S = torch.bincount(owner, minlength=sentences.num_sentences).clamp(min=1)
        total_SW = row.new_zeros(sentences.num_sentences, row.shape[1]).index_add(0, owner, row)
        means.append(total_SW / num_S[:, None])
    return torch.cat(means, 1)


def _first_token(sentences: SentenceBatch, sentence_T: Tensor, distance_T: Tensor) -> Tensor:
    """Return the first token of each sentence's mention; 0 if there is none."""
    place_T, far = torch.arange(len(sentence_T), device=sentence_T.device), len(sentence_T)
    place_S = torch.full_like(sentences.length_S, far)
    place_S = place_S.scatter_reduce(0, sentence_T, torch.where(distance_T == 0, place_T, far), "amin")
    return torch.cat([sentences.token_T, sentences.token_T.new_zeros(1)])[place_S]
