"""All training sentences as subwords, laid out once, and the padded row of numbers that a captured step reads.

Shapes: N sentences of the corpus, S of a step, Q sentences that are read, U their subwords, W needed vectors (see
`model/subword_reads.py`), B bags, R relations, K marks, P pairs of marks, L sentences with a relation label.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from sayso.features.batch import BagBatch, BagIndex, LabelBatch, MarkBatch, SentenceBatch, sentence_batch
from sayso.features.mentions import ModelInput
from sayso.model.encoders.transformer import TransformerEncoder
from sayso.model.subword_reads import Reads, reads_of
from sayso.store.rows import Rows

_SENTENCES_AT_A_TIME = 4_096
_ROUND = 64


@dataclass(frozen=True, kw_only=True)
class SubwordCorpus:
    """The subwords of N sentences; sentence n reads row `reader_N[n]` of `ids`.

    Row n of `column` are the positions in the sentence of the vectors that it needs, `slot_W` and `weight_W` what they
    are for (0 the sentence token, 1 the head, 2 the tail) and their weights.
    """

    ids: Rows
    reader_N: np.ndarray
    column: Rows
    slot_W: np.ndarray
    weight_W: np.ndarray

    @classmethod
    def of(cls, encoder: TransformerEncoder, inputs: ModelInput) -> "SubwordCorpus":
        """Lay out these sentences as the encoder reads them."""
        num = len(inputs.tokens)
        pieces = [
            _laid_out(encoder, sentence_batch(inputs.take(np.arange(first, min(first + _SENTENCES_AT_A_TIME, num)))))
            for first in range(0, max(num, 1), _SENTENCES_AT_A_TIME)
        ]
        ids, reader_N = Rows.concatenate([piece.ids for piece in pieces]), np.arange(num)
        if encoder.config.reading == "spans":
            _, first_Q, reader_N = np.unique(ids.hashes(), return_index=True, return_inverse=True)
            ids = ids.take(first_Q)
        return cls(
            ids=ids,
            reader_N=reader_N,
            column=Rows.concatenate([piece.column for piece in pieces]),
            slot_W=np.concatenate([piece.slot_W for piece in pieces]),
            weight_W=np.concatenate([piece.weight_W for piece in pieces]),
        )

    def take(self, sentence_S: np.ndarray) -> "StepReads":
        """Return what to read for these sentences of the corpus."""
        reader_Q, read_S = np.unique(self.reader_N[sentence_S], return_inverse=True)
        ids, column = self.ids.take(reader_Q), self.column.take(sentence_S)
        whole = Rows(np.arange(len(self.slot_W)), self.column.start).take(sentence_S).value
        return StepReads(
            ids=ids,
            place_W=column.value + np.repeat(ids.start[:-1][read_S], column.length),
            owner_W=self.slot_W[whole] + 3 * np.repeat(np.arange(len(sentence_S)), column.length),
            weight_W=self.weight_W[whole],
        )


def _laid_out(encoder: TransformerEncoder, sentences: SentenceBatch) -> SubwordCorpus:
    layout = encoder.lay_out(sentences)
    reads = reads_of(layout, is_shared=False)
    owner_W = reads.owner_W.numpy()
    order = np.argsort(owner_W, kind="stable")
    start_Q1, num_N = reads.start_Q1.numpy(), np.bincount(owner_W // 3, minlength=reads.num_sentences)
    column_W = reads.place_W.numpy()[order] - np.repeat(start_Q1[:-1], num_N)
    return SubwordCorpus(
        ids=Rows(reads.id_U.numpy().astype(np.int32), start_Q1),
        reader_N=np.arange(reads.num_sentences),
        column=Rows.of_lengths(column_W.astype(np.int32), num_N),
        slot_W=(owner_W[order] % 3).astype(np.int8),
        weight_W=reads.weight_W.numpy()[order],
    )


class StepReads(NamedTuple):
    """The sentences that a step reads, and the vectors that it needs from them; see `Reads`."""

    ids: Rows
    place_W: np.ndarray
    owner_W: np.ndarray
    weight_W: np.ndarray


class StepSize(NamedTuple):
    """The sizes of a padded step, or of what must fit into one; `further` are the sentences that are in no bag."""

    subwords: int = 0
    needed: int = 0
    sentences: int = 0
    further: int = 0
    marks: int = 0
    pairs: int = 0
    labels: int = 0

    def holds(self, step: "StepSize") -> bool:
        """Return whether a step of these sizes fits into this capacity."""
        return all(mine >= theirs for mine, theirs in zip(self, step, strict=True))

    def enlarged(self, other: "StepSize", slack: float) -> "StepSize":
        """Return this capacity, with those sizes that are too small enlarged to the other's and some slack."""
        pairs = zip(self, other, strict=True)
        larger = [mine if mine >= theirs else -(-int(theirs * slack) // _ROUND) * _ROUND for mine, theirs in pairs]
        return StepSize(*larger)

    def level(self, other: "StepSize", num_levels: int) -> int:
        """Return the lowest level, of `num_levels`, at which a step of this capacity holds the other."""
        return max(1, *(-(-num_levels * theirs // mine) for mine, theirs in zip(self[:3], other[:3], strict=True)))

    def at_level(self, level: int, num_levels: int) -> "StepSize":
        """Return this capacity with subwords, needed vectors and sentences in bags scaled to a level."""
        return self._replace(**{name: -(-getattr(self, name) * level // num_levels) for name in self._fields[:3]})


def size_of(batch: BagBatch, reads: StepReads, num_bags: int) -> StepSize:
    """Return the sizes of a step in a row for this many bags: each missing bag and the spare one have a sentence."""
    bags, marks, labels = batch.bags, batch.marks, batch.labels
    return StepSize(
        subwords=len(reads.ids.value),
        needed=len(reads.place_W),
        sentences=bags.num_sentences + num_bags + 1 - bags.num_bags,
        further=batch.sentences.num_sentences - bags.num_sentences,
        marks=0 if marks is None else len(marks.sentence_K),
        pairs=0 if marks is None else len(marks.rationale_P),
        labels=0 if labels is None else len(labels.sentence_L),
    )


class PaddedRow:
    """A step of fixed sizes in one piece of memory, so that it is copied to a GPU at once.

    Padding has no effect: padded sentences are in bags without weight (one in each that is missing, so that none is
    empty, and the others in a spare bag), and marks and labels have weight 0.
    Subwords beyond those of the step are filler sentences of at most `longest`, whose vectors are not used.
    """

    def __init__(
        self, size: StepSize, num_bags: int, num_relations: int, longest: int, device: str | torch.device = "cpu"
    ) -> None:
        self.size, self.longest = size, longest
        self._num_bags, self._num_sentences = num_bags, size.sentences + size.further
        num_reads = self._num_sentences + -(-size.subwords // longest)
        ints = {
            "id_U": size.subwords, "position_U": size.subwords, "start_Q1": num_reads + 1, "place_W": size.needed,
            "owner_W": size.needed, "bag_N": size.sentences, "head_B": num_bags + 1, "tail_B": num_bags + 1,
            "sentence_K": size.marks, "relation_K": size.marks, "rationale_P": size.pairs, "irrelevant_P": size.pairs,
            "sentence_L": size.labels, "label_L": size.labels,
        }  # fmt: skip
        floats = {
            "weight_W": size.needed, "label_BR": (num_bags + 1) * num_relations,
            "weight_BR": (num_bags + 1) * num_relations, "target_S": self._num_sentences, "target_K": size.marks,
            "weight_K": size.marks, "weight_P": size.pairs, "weight_L": size.labels, "num_bags": 1, "num_targets": 1,
        }  # fmt: skip
        num_ints, num_floats = sum(ints.values()), sum(floats.values())
        is_pinned = device == "cpu" and torch.cuda.is_available()
        self.memory = torch.zeros(8 * num_ints + 4 * num_floats, dtype=torch.uint8, device=device, pin_memory=is_pinned)
        self.fields: dict[str, Tensor] = {}
        first = 0
        for sizes, dtype in ((ints, torch.int64), (floats, torch.float32)):
            for name, num in sizes.items():
                stop = first + num * dtype.itemsize
                flat = self.memory[first:stop].view(dtype)
                self.fields[name] = flat.view(num_bags + 1, -1) if name.endswith("_BR") else flat
                first = stop

    def fill(self, batch: BagBatch, reads: StepReads, num_bags: int, num_targets: int, padding: int) -> None:
        """Write a step; `num_bags` and `num_targets` are those of the whole batch."""
        self.memory.zero_()
        write = {name: field.numpy() for name, field in self.fields.items()}
        self._fill_reads(write, batch, reads, padding)
        num_sentences, num_mine = batch.bags.num_sentences, batch.bags.num_bags
        missing = np.arange(num_mine, self._num_bags)
        write["bag_N"][num_sentences:] = self._num_bags
        write["bag_N"][num_sentences : num_sentences + len(missing)] = missing
        write["target_S"][:] = np.nan
        write["weight_BR"][:num_mine] = 1.0 if batch.weight_BR is None else batch.weight_BR.numpy()
        write["target_S"][:num_sentences] = batch.target_S.numpy()[:num_sentences]
        further = batch.target_S.numpy()[num_sentences:]
        write["target_S"][self.size.sentences : self.size.sentences + len(further)] = further
        write["num_bags"][:], write["num_targets"][:] = num_bags, num_targets
        parts: list[tuple[str, Tensor]] = [
            ("bag_N", batch.bags.bag_N), ("head_B", batch.bags.head_B), ("tail_B", batch.bags.tail_B),
            ("label_BR", batch.label_BR),
        ]  # fmt: skip
        shift = self.size.sentences - num_sentences
        for some in (batch.marks, batch.labels):
            if some is not None:
                parts += vars(some.after(shift)).items()
        for name, value in parts:
            write[name][: len(value)] = value.numpy()

    def _fill_reads(self, write: Mapping[str, np.ndarray], batch: BagBatch, reads: StepReads, padding: int) -> None:
        ids, size = reads.ids, self.size
        num_used, num_reads = len(ids.value), len(ids)
        write["id_U"][:num_used], write["id_U"][num_used:] = ids.value, padding
        further = np.arange(len(write["start_Q1"]) - num_reads) * self.longest + num_used
        write["start_Q1"][:num_reads], write["start_Q1"][num_reads:] = (
            ids.start[:-1],
            np.minimum(further, size.subwords),
        )
        length_Q = np.diff(write["start_Q1"])
        write["position_U"][:] = np.arange(size.subwords) - np.repeat(write["start_Q1"][:-1], length_Q)
        # The sentences that are in no bag follow the padded ones of bags.
        is_further = reads.owner_W >= 3 * batch.bags.num_sentences
        owner_W = reads.owner_W + is_further * 3 * (size.sentences - batch.bags.num_sentences)
        write["owner_W"][: len(owner_W)], write["owner_W"][len(owner_W) :] = owner_W, 3 * self._num_sentences
        write["place_W"][: len(owner_W)] = reads.place_W
        write["weight_W"][: len(owner_W)] = reads.weight_W

    @property
    def reads(self) -> Reads:
        """What the encoder reads."""
        names = ("id_U", "position_U", "start_Q1", "place_W", "owner_W", "weight_W")
        return Reads(**{name: self.fields[name] for name in names}, num_sentences=self._num_sentences)

    @property
    def batch(self) -> BagBatch:
        """The batch, without the sentences' words."""
        fields, size = self.fields, self.size
        nothing = fields["bag_N"][:0]
        start_S1 = nothing.new_zeros(self._num_sentences + 1)
        sentences = SentenceBatch(
            token_T=nothing, head_distance_T=nothing, tail_distance_T=nothing, piece_T=nothing, start_S1=start_S1
        )
        bags = BagIndex(bag_N=fields["bag_N"], head_B=fields["head_B"], tail_B=fields["tail_B"])
        marks = {each.name: fields[each.name] for each in dataclasses.fields(MarkBatch)}
        labels = {each.name: fields[each.name] for each in dataclasses.fields(LabelBatch)}
        return BagBatch(
            sentences=sentences,
            bags=bags,
            label_BR=fields["label_BR"],
            distractor_bag_M=nothing,
            distractor_relation_M=nothing,
            target_S=fields["target_S"],
            marks=MarkBatch(**marks) if size.marks else None,
            labels=LabelBatch(**labels) if size.labels else None,
            weight_BR=fields["weight_BR"],
        )
