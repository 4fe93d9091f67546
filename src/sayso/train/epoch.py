"""The batches of one epoch; all randomness derives from the run's seed, the name of its purpose and the epoch.

An epoch can therefore be repeated exactly after a crash, and adding a random choice does not change the others.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch

from sayso.distractors import facts_of, insert
from sayso.features.batch import BagBatch, DirectSentences, Distractors, LabelBatch, MarkedSentences, collate
from sayso.features.mentions import ModelInput
from sayso.seeding import sub_seed
from sayso.store.rows import Rows, ranges, starts
from sayso.store.table import NO_LABEL, BagTable
from sayso.train.data import RunData


class ProcessShard(NamedTuple):
    """The share of every batch that this process works on."""

    rank: int = 0
    num: int = 1


class DrawnDistractors(NamedTuple):
    """The distractors of each bag, and each distractor's relation and sentence."""

    of_bag: Rows
    relation_M: np.ndarray
    inputs: ModelInput


class TrainStep(NamedTuple):
    """A batch or this process's shard of it, in one or more parts, and the sizes of the whole batch.

    Every process takes the same number of steps: if a batch has fewer bags than there are processes, some shards are
    empty.
    """

    parts: list[BagBatch]
    num_bags: int
    num_targets: int

    @property
    def batch(self) -> BagBatch:
        """The batch, which must have one part."""
        (only,) = self.parts
        return only


def num_steps(data: RunData) -> int:
    """Return the number of batches in an epoch."""
    return -(-data.train.table.num_bags // data.config.train.batch_bags)


def steps_of_epoch(data: RunData, epoch: int, shard: ProcessShard = ProcessShard()) -> Iterator[TrainStep]:
    """Yield the epoch's batches: bags shuffled, at most `max_bag_sentences` sentences each, new distractors."""
    plan = EpochPlan(data, epoch)
    size = data.config.train.batch_bags
    for number, first in enumerate(range(0, len(plan.order), size)):
        bags = plan.order[first : first + size]
        num_parts = plan.num_parts(bags)
        parts = [
            plan.batch(bags, number, ProcessShard(shard.rank * num_parts + part, shard.num * num_parts))
            for part in range(num_parts)
        ]
        yield TrainStep(parts, len(bags), plan.num_targets(bags, number))


class EpochPlan:
    """The random choices of an epoch: order of the bags, their sentences, distractors, direct and marked sentences.

    If `is_numbered`, batches contain placeholders, whose only token is the index of the sentence: training sentences
    from 0, then directly supervised ones. There are no distractors then.
    """

    def __init__(self, data: RunData, epoch: int, is_numbered: bool = False) -> None:
        self.data, self.epoch = data, epoch
        table = data.train.table
        self._train, self._direct = data.train, data.direct
        if is_numbered:
            self._train = replace(data.train, inputs=_placeholders(table.num_sentences))
        if is_numbered and data.direct:
            self._direct = replace(
                data.direct, inputs=_placeholders(data.direct.table.num_sentences, table.num_sentences)
            )
        self.order = self._stream("order").permutation(table.num_bags)
        self.kept = _cap(table, data.config.data.max_bag_sentences, self._stream("cap"))
        self.num_targets_B = np.where(table.is_positive_B, 0, self.kept.length)
        self.distractors = self._draw_distractors() if data.distractors else None
        loss, no_rows = data.config.loss, np.zeros(0, np.int64)
        self.direct_order = self._cycled("direct", data.direct_rows, loss.direct_sentences) if data.direct else no_rows
        self.marked_order = self._cycled("marks", data.marked_bags, loss.marked_bags) if data.marked else no_rows

    def batch(self, bags: np.ndarray, number: int, shard: ProcessShard) -> BagBatch:
        """Return this process's shard of the batch with these bags."""
        mine = bags[shard.rank :: shard.num]
        batch = collate(
            self._train,
            mine,
            self.kept.take(mine),
            self._distractors_of(mine),
            self._direct_of(number, shard),
            self._marked_of(number, shard),
        )
        facts = self.data.compatible
        return batch if facts is None else replace(batch, weight_BR=facts.weights(mine))

    def num_parts(self, bags: np.ndarray) -> int:
        """Return the number of parts that a batch with these bags is divided into."""
        num_tokens = int(self.data.train.inputs.tokens.length[self.kept.take(bags).value].sum())
        return min(-(-num_tokens // self.data.config.train.tokens_at_once), len(bags))

    def num_targets(self, bags: np.ndarray, number: int) -> int:
        """Return how many sentences in the whole batch have their own target, or 1 if none (it is a divisor)."""
        return max(int(self.num_targets_B[bags].sum()) + len(self._direct_rows(number)), 1)

    def _stream(self, name: str) -> np.random.Generator:
        """Return the epoch's random generator for one purpose."""
        return np.random.default_rng(sub_seed(self.data.config.seed, f"{name}/{self.epoch}"))

    def _draw_distractors(self) -> DrawnDistractors:
        pool, table, data = self.data.distractors, self.data.train.table, self.data
        assert pool is not None
        bag_M, relation_M = facts_of(table)
        chosen = pool.draw(bag_M, relation_M, pool.kind_B[bag_M], self._stream("distract"))
        inserted = insert(table, table, chosen)
        inputs = data.input_of(inserted)
        # Facts come bag by bag, so the distractors of a bag are adjacent.
        of_bag = Rows(np.arange(len(chosen.bag_M)), starts(np.bincount(chosen.bag_M, minlength=table.num_bags)))
        return DrawnDistractors(of_bag, chosen.relation_M, inputs)

    def _distractors_of(self, bags: np.ndarray) -> Distractors | None:
        if self.distractors is None:
            return None
        of_bag, relation_M, inputs = self.distractors
        rows = of_bag.take(bags)
        return Distractors(
            inputs=inputs.take(rows.value),
            place_M=np.repeat(np.arange(len(bags)), rows.length),
            relation_M=relation_M[rows.value],
        )

    def _cycled(self, name: str, rows: np.ndarray, per_batch: int) -> np.ndarray:
        """Return the rows for all batches, in random order; each row is used once before any is repeated."""
        wanted, stream = num_steps(self.data) * per_batch, self._stream(name)
        return np.concatenate([stream.permutation(rows) for _ in range(-(-wanted // len(rows)))])[:wanted]

    def _direct_rows(self, number: int) -> np.ndarray:
        per_batch = self.data.config.loss.direct_sentences
        return self.direct_order[number * per_batch : (number + 1) * per_batch]

    def _direct_of(self, number: int, shard: ProcessShard) -> DirectSentences | None:
        part = self._direct
        if part is None:
            return None
        whole = self._direct_rows(number)
        rows = whole[shard.rank :: shard.num]
        labels = _labels(part.table.label_N, whole, rows) if self.data.config.loss.needs_labels else None
        return DirectSentences(inputs=part.inputs.take(rows), target_Q=part.table.expresses_N[rows], labels=labels)

    def _marked_of(self, number: int, shard: ProcessShard) -> MarkedSentences | None:
        marked, per_batch = self.data.marked, self.data.config.loss.marked_bags
        if marked is None:
            return None
        # Each bag once: few marked bags are repeated within a batch.
        bags = np.unique(self.marked_order[number * per_batch : (number + 1) * per_batch])
        rows, marks = marked.take(bags, bags[shard.rank :: shard.num])
        return MarkedSentences(inputs=self._train.inputs.take(rows), marks=marks)


def _placeholders(num: int, first: int = 0) -> ModelInput:
    """Return `num` placeholder sentences, each with its own index (from `first`) as its only token."""
    nothing = np.zeros(num, np.int8)
    tokens = Rows(np.arange(first, first + num), np.arange(num + 1))
    return ModelInput(tokens=tokens, head_distance_T=nothing, tail_distance_T=nothing, piece_T=nothing)


def _labels(label_N: np.ndarray, whole: np.ndarray, rows: np.ndarray) -> LabelBatch:
    """Return the labels of these rows, which are a shard of the `whole` batch."""
    labelled = np.flatnonzero(label_N[rows] != NO_LABEL)
    num_labels = int((label_N[whole] != NO_LABEL).sum())
    return LabelBatch(
        sentence_L=torch.from_numpy(labelled),
        label_L=torch.from_numpy(label_N[rows[labelled]].astype(np.int64)),
        weight_L=torch.full((len(labelled),), 1.0 / max(num_labels, 1)),
    )


def _cap(table: BagTable, most: int, stream: np.random.Generator) -> Rows:
    """Return the sentences of each bag in order, at most `most` per bag, drawn at random."""
    size_B = table.size_B
    is_kept_N = np.ones(table.num_sentences, np.bool_)
    large = np.flatnonzero(size_B > most)
    # Draw for large bags only: sorting all sentences would cost more than a batch.
    sentence_L = ranges(table.first_B1[:-1][large], size_B[large])
    order = np.lexsort((stream.random(len(sentence_L)), np.repeat(large, size_B[large])))
    rank_L = np.empty(len(sentence_L), np.int64)
    rank_L[order] = ranges(np.zeros(len(large), np.int64), size_B[large])
    is_kept_N[sentence_L[rank_L >= most]] = False
    return Rows.of_lengths(np.flatnonzero(is_kept_N), np.minimum(size_B, most))
