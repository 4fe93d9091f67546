"""Batches as a model reads them: the sentences of bags concatenated without padding.

Shapes: B bags, N sentences in all bags, S encoded sentences (the N, then M distractors, then Q directly
supervised ones, then marked ones), T tokens of the S sentences, concatenated, R relations, K marks, P pairs of marks,
L sentences with a relation label.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np
import torch
from torch import Tensor

from sayso.features.mentions import ModelInput, concatenate
from sayso.store.rows import Rows, ranges
from sayso.store.table import BagTable

_SENTENCES_AT_A_TIME = 4_096


@dataclass(frozen=True, kw_only=True)
class SentenceBatch:
    """S sentences, with their T tokens concatenated.

    `token_T` are rows of the token table (words, then types). Distances to the nearest occurrence of a mention are
    signed, and 0 inside it. `piece_T` is the token's piece for piecewise pooling: 0 up to and including the first
    mention, 1 up to and including the second, 2 after it. Sentence i has the tokens from `start_S1[i]` up to
    `start_S1[i + 1]`.
    """

    token_T: Tensor
    head_distance_T: Tensor
    tail_distance_T: Tensor
    piece_T: Tensor
    start_S1: Tensor

    def __post_init__(self) -> None:
        num_tokens = self.token_T.shape[0]
        for name in ("head_distance_T", "tail_distance_T", "piece_T"):
            assert getattr(self, name).shape == (num_tokens,), f"{name} does not match the {num_tokens} tokens"
        assert self.start_S1.ndim == 1
        assert self.start_S1.numel() >= 1

    @property
    def num_sentences(self) -> int:
        """The number of sentences, S."""
        return self.start_S1.shape[0] - 1

    @property
    def length_S(self) -> Tensor:
        """The number of tokens per sentence."""
        return self.start_S1.diff()

    def slice(self, first: int, stop: int) -> Self:
        """Return the sentences from `first` up to `stop`."""
        start_S1 = self.start_S1[first : stop + 1]
        tokens = slice(int(start_S1[0]), int(start_S1[-1]))
        columns = {f.name: getattr(self, f.name)[tokens] for f in fields(self) if f.name != "start_S1"}
        return replace(self, **columns, start_S1=start_S1 - start_S1[0])

    def to(self, device: torch.device | str) -> Self:
        """Return the batch on the device."""
        return replace(self, **{f.name: getattr(self, f.name).to(device, non_blocking=True) for f in fields(self)})


@dataclass(frozen=True, kw_only=True)
class BagIndex:
    """The bag of each sentence, and the pair of each bag.

    `bag_N` never decreases. `head_B` and `tail_B` are rows of the entity vectors (row 0: entities without a vector).
    """

    bag_N: Tensor
    head_B: Tensor
    tail_B: Tensor

    def __post_init__(self) -> None:
        assert self.head_B.shape == self.tail_B.shape

    @property
    def num_bags(self) -> int:
        """The number of bags, B."""
        return self.head_B.shape[0]

    @property
    def num_sentences(self) -> int:
        """The number of sentences, N."""
        return self.bag_N.shape[0]

    def with_sizes(self, bag: np.ndarray, size: np.ndarray) -> "BagIndex":
        """Return an index of new bags: bag i has `size[i]` sentences and the entity pair of `bag[i]`."""
        device = self.bag_N.device
        chosen = torch.from_numpy(bag).to(device)
        bag_N = torch.from_numpy(np.repeat(np.arange(len(bag)), size)).to(device)
        return BagIndex(bag_N=bag_N, head_B=self.head_B[chosen], tail_B=self.tail_B[chosen])

    def to(self, device: torch.device | str) -> Self:
        """Return the index on the device."""
        return replace(self, **{f.name: getattr(self, f.name).to(device, non_blocking=True) for f in fields(self)})


@dataclass(frozen=True, kw_only=True)
class MarkBatch:
    """K marks on sentences, and P pairs of a rationale and an irrelevant sentence of one fact.

    `target_K` is 1 for a rationale and 0 for an irrelevant sentence; `rationale_P` and `irrelevant_P` are indices of
    marks. Sums with these weights are means over the whole batch, of which this may be one process's shard.
    """

    sentence_K: Tensor
    relation_K: Tensor
    target_K: Tensor
    weight_K: Tensor
    rationale_P: Tensor
    irrelevant_P: Tensor
    weight_P: Tensor

    def after(self, num_sentences: int) -> Self:
        """Return the marks for sentences that follow this many others."""
        return replace(self, sentence_K=self.sentence_K + num_sentences)

    def to(self, device: torch.device | str) -> Self:
        """Return the marks on the device."""
        return replace(self, **{f.name: getattr(self, f.name).to(device) for f in fields(self)})


@dataclass(frozen=True, kw_only=True)
class LabelBatch:
    """L directly supervised sentences with a relation label of their own, an index into the store's direct labels.

    A sum weighted by `weight_L` is a mean over the whole batch, of which this may be one process's shard.
    """

    sentence_L: Tensor
    label_L: Tensor
    weight_L: Tensor

    def after(self, num_sentences: int) -> Self:
        """Return the labels for sentences that follow this many others."""
        return replace(self, sentence_L=self.sentence_L + num_sentences)

    def to(self, device: torch.device | str) -> Self:
        """Return the labels on the device."""
        return replace(self, **{f.name: getattr(self, f.name).to(device) for f in fields(self)})


@dataclass(frozen=True, kw_only=True)
class BagBatch:
    """B bags of sentences and, in training, their targets.

    The first N of the S sentences are those of the bags; then come M distractors, one for each (bag, relation) in
    `distractor_bag_M`, `distractor_relation_M`; then Q directly supervised sentences; then those of `marks`. `marks`
    and `labels` refer to rows of the S sentences. `target_S` is each sentence's own target: 1 if it expresses a
    relation, 0 if not, NaN if unknown. `weight_BR` are the weights of the bag term; None if all are 1.
    """

    sentences: SentenceBatch
    bags: BagIndex
    label_BR: Tensor
    distractor_bag_M: Tensor
    distractor_relation_M: Tensor
    target_S: Tensor
    marks: MarkBatch | None = None
    labels: LabelBatch | None = None
    weight_BR: Tensor | None = None

    def __post_init__(self) -> None:
        assert self.label_BR.shape[0] == self.bags.num_bags
        assert self.distractor_bag_M.shape == self.distractor_relation_M.shape
        assert self.target_S.shape == (self.sentences.num_sentences,)
        assert self.bags.num_sentences + self.distractor_bag_M.shape[0] <= self.sentences.num_sentences

    def to(self, device: torch.device | str) -> Self:
        """Return the batch on the device."""
        given = {f.name: value for f in fields(self) if (value := getattr(self, f.name)) is not None}
        return replace(self, **{name: value.to(device) for name, value in given.items()})


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of a store, or bags that a user made, as a model reads it."""

    table: BagTable
    inputs: ModelInput
    num_relations: int

    def slices(self) -> Iterator[SentenceBatch]:
        """Yield the sentences in order, some at a time."""
        for first in range(0, self.table.num_sentences, _SENTENCES_AT_A_TIME):
            stop = min(first + _SENTENCES_AT_A_TIME, self.table.num_sentences)
            yield sentence_batch(self.inputs.take(np.arange(first, stop)))

    def label_rows(self, bags: np.ndarray) -> Tensor:
        """Return label_BR for these bags."""
        labels = self.table.relations.take(bags)
        label_BR = torch.zeros(len(bags), self.num_relations)
        bag_of_label = np.repeat(np.arange(len(bags)), labels.length)
        label_BR[torch.from_numpy(bag_of_label), _tensor(labels.value)] = 1.0
        return label_BR


@dataclass(frozen=True, kw_only=True)
class Distractors:
    """M distractor sentences, the index of each one's bag in the batch, and the relation that it distracts from."""

    inputs: ModelInput
    place_M: np.ndarray
    relation_M: np.ndarray


@dataclass(frozen=True, kw_only=True)
class DirectSentences:
    """Q sentences with their own targets; the labels, if any, refer to rows of these sentences."""

    inputs: ModelInput
    target_Q: np.ndarray
    labels: LabelBatch | None = None


@dataclass(frozen=True, kw_only=True)
class MarkedSentences:
    """Sentences with marks; the marks refer to rows of these sentences."""

    inputs: ModelInput
    marks: MarkBatch


def collate(
    part: Part,
    bags: np.ndarray,
    sentences: Rows | None = None,
    distractors: Distractors | None = None,
    direct: DirectSentences | None = None,
    marked: MarkedSentences | None = None,
) -> BagBatch:
    """Collate bags into a batch, each with the sentences in its row of `sentences`, or with all of them."""
    table = part.table
    chosen = sentences or Rows.of_lengths(ranges(table.first_B1[:-1][bags], table.size_B[bags]), table.size_B[bags])
    extra = [item.inputs for item in (distractors, direct, marked) if item is not None]
    inputs = concatenate([part.inputs.take(chosen.value), *extra])
    num_marked = len(marked.inputs.tokens) if marked else 0
    num_before_direct = len(chosen.value) + (len(distractors.place_M) if distractors else 0)
    nothing = np.zeros(0, np.int64)
    return BagBatch(
        sentences=sentence_batch(inputs),
        bags=BagIndex(
            bag_N=_tensor(np.repeat(np.arange(len(bags)), chosen.length)),
            # Row 0 of the entity vectors is for entities without a vector.
            head_B=_tensor(table.head_B[bags]) + 1,
            tail_B=_tensor(table.tail_B[bags]) + 1,
        ),
        label_BR=part.label_rows(bags),
        distractor_bag_M=_tensor(distractors.place_M if distractors else nothing),
        distractor_relation_M=_tensor(distractors.relation_M if distractors else nothing),
        target_S=_targets(table.is_positive_B[bags], chosen, distractors, direct, num_marked),
        marks=marked.marks.after(len(inputs.tokens) - num_marked) if marked else None,
        labels=direct.labels.after(num_before_direct) if direct and direct.labels else None,
    )


def sentence_batch(inputs: ModelInput) -> SentenceBatch:
    """Return the sentences as tensors."""
    return SentenceBatch(
        token_T=_tensor(inputs.tokens.value),
        head_distance_T=_tensor(inputs.head_distance_T),
        tail_distance_T=_tensor(inputs.tail_distance_T),
        piece_T=_tensor(inputs.piece_T),
        start_S1=_tensor(inputs.tokens.start),
    )


def _targets(
    is_positive_B: np.ndarray,
    chosen: Rows,
    distractors: Distractors | None,
    direct: DirectSentences | None,
    num_marked: int,
) -> Tensor:
    """Return each sentence's own target: 0 in a bag without a relation, NaN elsewhere except for direct sentences."""
    target_N = np.where(np.repeat(is_positive_B, chosen.length), np.float32(np.nan), np.float32(0))
    target_M = np.full(len(distractors.place_M) if distractors else 0, np.nan, np.float32)
    target_Q = direct.target_Q if direct else np.zeros(0, np.float32)
    unknown = np.full(num_marked, np.nan, np.float32)
    return torch.from_numpy(np.concatenate([target_N, target_M, target_Q, unknown]).astype(np.float32))


def _tensor(values: np.ndarray) -> Tensor:
    return torch.from_numpy(values.astype(np.int64))
