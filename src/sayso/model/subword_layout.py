"""Sentences as the subwords that a pretrained encoder reads, concatenated without padding.

Shapes: S sentences, T tokens (words, or types that stand for mentions), U subwords of all sentences, V rows of the
token table, P places of mentions.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from sayso.features.batch import SentenceBatch
from sayso.features.subwords import SpecialIds


class SubwordTable(NamedTuple):
    """The subwords of each token: token v has `id_X[start_V1[v] : start_V1[v + 1]]`."""

    id_X: Tensor
    start_V1: Tensor


class Places(NamedTuple):
    """P subwords that stand for a mention, and the sentence of each."""

    subword_P: Tensor
    sentence_P: Tensor


class SubwordLayout(NamedTuple):
    """S sentences as U subwords; sentence i has the subwords from `start_S1[i]` up to `start_S1[i + 1]`.

    `token_U` is the token of each subword, and T, one beyond the last, for markers and other special subwords.
    """

    id_U: Tensor
    start_S1: Tensor
    token_U: Tensor
    head: Places
    tail: Places

    @property
    def length_S(self) -> Tensor:
        """The number of subwords per sentence."""
        return self.start_S1.diff()


def lay_out(
    sentences: SentenceBatch, table: SubwordTable, special: SpecialIds, max_length: int, has_markers: bool
) -> SubwordLayout:
    """Return the subwords of the sentences, each cut to `max_length` by leaving out tokens far from both mentions.

    A mention is represented by its subwords and, with markers, the marker before each of its occurrences.
    """
    edges = _Edges(sentences, has_markers)
    num_T = table.start_V1[sentences.token_T + 1] - table.start_V1[sentences.token_T]
    extent_T = num_T + edges.before_T + edges.after_T
    sentence_T = torch.repeat_interleave(sentences.length_S)
    is_kept_T = _fits(sentences, extent_T, sentence_T, max_length - 2)
    extent_T = extent_T * is_kept_T
    length_S = torch.zeros_like(sentences.start_S1[1:]).index_add_(0, sentence_T, extent_T) + 2
    start_S1 = torch.cat([length_S.new_zeros(1), length_S.cumsum(0)])
    # A token's subwords begin after those of earlier tokens and the special tokens of this and earlier sentences.
    first_T = extent_T.cumsum(0) - extent_T + 2 * sentence_T + 1
    num_U = int(start_S1[-1])
    id_U = sentences.token_T.new_full((num_U,), special.padding)
    token_U = sentences.token_T.new_full((num_U,), len(sentences.token_T))
    id_U[start_S1[:-1]], id_U[start_S1[1:] - 1] = special.begin, special.end
    word_T = is_kept_T.nonzero()[:, 0]
    owner_W = torch.repeat_interleave(word_T, num_T[word_T])
    rank_W = torch.arange(len(owner_W), device=owner_W.device)
    rank_W -= torch.repeat_interleave(num_T[word_T].cumsum(0) - num_T[word_T], num_T[word_T])
    place_W = (first_T + edges.before_T)[owner_W] + rank_W
    id_U[place_W] = table.id_X[table.start_V1[sentences.token_T[owner_W]] + rank_W]
    token_U[place_W] = owner_W
    last_T = first_T + extent_T - 1
    for at_T, is_here_T, marker in (
        (first_T, edges.head_begin_T, special.head_begin),
        (first_T, edges.tail_begin_T, special.tail_begin),
        (last_T, edges.head_end_T, special.head_end),
        (last_T, edges.tail_end_T, special.tail_end),
    ):
        id_U[at_T[is_here_T & is_kept_T]] = marker
    places = []
    for is_inside_T, begins_T in ((edges.is_head_T, edges.head_begin_T), (edges.is_tail_T, edges.tail_begin_T)):
        token_P = (begins_T & is_kept_T).nonzero()[:, 0]
        is_inside_W = is_inside_T[owner_W]
        owner_P = torch.cat([token_P, owner_W[is_inside_W]])
        places.append(Places(torch.cat([first_T[token_P], place_W[is_inside_W]]), sentence_T[owner_P]))
    return SubwordLayout(id_U, start_S1, token_U, *places)


class _Edges:
    """Which tokens are inside mentions, and which begin or end an occurrence, if these are marked."""

    def __init__(self, sentences: SentenceBatch, has_markers: bool) -> None:
        self.is_head_T, self.is_tail_T = sentences.head_distance_T == 0, sentences.tail_distance_T == 0
        self.head_begin_T, self.head_end_T = _edges(self.is_head_T, sentences.start_S1, has_markers)
        self.tail_begin_T, self.tail_end_T = _edges(self.is_tail_T, sentences.start_S1, has_markers)
        self.before_T = self.head_begin_T.long() + self.tail_begin_T.long()
        self.after_T = self.head_end_T.long() + self.tail_end_T.long()


def _edges(is_inside_T: Tensor, start_S1: Tensor, has_markers: bool) -> tuple[Tensor, Tensor]:
    """Return the first and the last token of each run of tokens inside a mention, within its sentence."""
    if not has_markers:
        nothing_T = torch.zeros_like(is_inside_T)
        return nothing_T, nothing_T
    is_first_T = torch.zeros(len(is_inside_T) + 1, dtype=torch.bool, device=is_inside_T.device)
    is_first_T[start_S1] = True
    outside = is_inside_T.new_zeros(1)
    previous_T, next_T = torch.cat([outside, is_inside_T[:-1]]), torch.cat([is_inside_T[1:], outside])
    return is_inside_T & (~previous_T | is_first_T[:-1]), is_inside_T & (~next_T | is_first_T[1:])


def _fits(sentences: SentenceBatch, extent_T: Tensor, sentence_T: Tensor, most: int) -> Tensor:
    """Return which tokens are kept so that no sentence has more than `most` subwords: those nearest to a mention."""
    is_kept_T = torch.ones_like(extent_T, dtype=torch.bool)
    total_S = torch.zeros_like(sentences.start_S1[1:]).index_add_(0, sentence_T, extent_T)
    is_long_T = total_S[sentence_T] > most
    if not bool(is_long_T.any()):
        return is_kept_T
    token_L = is_long_T.nonzero()[:, 0]
    nearest_L = torch.minimum(sentences.head_distance_T.abs(), sentences.tail_distance_T.abs())[token_L]
    order_L = torch.argsort(nearest_L.long() + sentence_T[token_L] * (int(nearest_L.max()) + 1), stable=True)
    token_L = token_L[order_L]
    total_L = extent_T[token_L].cumsum(0)
    owner_L = sentence_T[token_L]
    begin_S = torch.full_like(total_S, torch.iinfo(torch.int64).max)
    begin_S = begin_S.scatter_reduce(0, owner_L, total_L - extent_T[token_L], "amin")
    is_kept_T[token_L[total_L - begin_S[owner_L] > most]] = False
    return is_kept_T
