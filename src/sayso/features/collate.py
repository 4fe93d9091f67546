"""Bags of a part to a `BagBatch`.

Shapes: B bags of the batch, N their sentences, M distractors, Q directly supervised sentences, S all of them.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sayso.features.batch import BagBatch, BagIndex, SentenceBatch
from sayso.features.mentions import ModelInput, concatenate
from sayso.store.rows import Rows, ranges
from sayso.store.table import BagTable


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of a store as a model reads it."""

    table: BagTable
    inputs: ModelInput
    num_relations: int

    def label_rows(self, bags: np.ndarray) -> Tensor:
        """Return label_BR of these bags."""
        labels = self.table.relations.take(bags)
        label_BR = torch.zeros(len(bags), self.num_relations)
        bag_of_label = np.repeat(np.arange(len(bags)), labels.length)
        label_BR[torch.from_numpy(bag_of_label), _tensor(labels.value)] = 1.0
        return label_BR


@dataclass(frozen=True, kw_only=True)
class Distractors:
    """M distractor sentences: the place in the batch of the bag that each is added to, and from which relation."""

    inputs: ModelInput
    place_M: np.ndarray
    relation_M: np.ndarray


@dataclass(frozen=True, kw_only=True)
class DirectSentences:
    """Q sentences with a target of their own."""

    inputs: ModelInput
    target_Q: np.ndarray


def collate(
    part: Part,
    bags: np.ndarray,
    sentences: Rows | None = None,
    distractors: Distractors | None = None,
    direct: DirectSentences | None = None,
) -> BagBatch:
    """Return these bags as a batch, each with its row of `sentences` (all its sentences where none are given)."""
    table = part.table
    chosen = sentences or Rows.of_lengths(ranges(table.first_B1[:-1][bags], table.size_B[bags]), table.size_B[bags])
    extra = [item.inputs for item in (distractors, direct) if item is not None]
    inputs = concatenate([part.inputs.take(chosen.value), *extra])
    nothing = np.zeros(0, np.int64)
    return BagBatch(
        sentences=sentence_batch(inputs),
        bags=BagIndex(
            bag_N=_tensor(np.repeat(np.arange(len(bags)), chosen.length)),
            # Row 0 of the entity vectors is the entity without one.
            head_B=_tensor(table.head_B[bags]) + 1,
            tail_B=_tensor(table.tail_B[bags]) + 1,
        ),
        label_BR=part.label_rows(bags),
        distractor_bag_M=_tensor(distractors.place_M if distractors else nothing),
        distractor_relation_M=_tensor(distractors.relation_M if distractors else nothing),
        target_S=_targets(table.is_positive_B[bags], chosen, distractors, direct),
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
    is_positive_B: np.ndarray, chosen: Rows, distractors: Distractors | None, direct: DirectSentences | None
) -> Tensor:
    """Return each sentence's own target: 0 in a bag without relation, none in the others and for distractors."""
    target_N = np.where(np.repeat(is_positive_B, chosen.length), np.float32(np.nan), np.float32(0))
    target_M = np.full(len(distractors.place_M) if distractors else 0, np.nan, np.float32)
    target_Q = direct.target_Q if direct else np.zeros(0, np.float32)
    return torch.from_numpy(np.concatenate([target_N, target_M, target_Q]).astype(np.float32))


def _tensor(values: np.ndarray) -> Tensor:
    return torch.from_numpy(values.astype(np.int64))
