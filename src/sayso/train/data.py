"""The parts of a store as one run reads them, and the facts that an incomplete knowledge base may lack.

Shapes: B bags, E entities, K pairs of entity types, R relations, V words, W width of a word vector.
"""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from sayso.distractors import DistractorPool
from sayso.errors import BadInputError, option
from sayso.features.batch import Part
from sayso.features.mentions import ModelInput, model_input
from sayso.memory import refuse_beyond_memory
from sayso.model.encoders.base import ModelTables
from sayso.model.encoders.transformer import TransformerConfig
from sayso.model.pretrained import Pretrained, read_pretrained
from sayso.model.subword_reads import KeptStates
from sayso.seeding import sub_seed
from sayso.store.columns import to_numpy
from sayso.store.direct import in_text_order
from sayso.store.folds import HeldOutPairs, Withheld, folds_of, held_out_pairs, withhold
from sayso.store.group import combined
from sayso.store.marks import marks_of_store
from sayso.store.store import Store
from sayso.store.table import NO_LABEL, BagTable
from sayso.train.config import RunConfig
from sayso.train.marks import MarkedBags, marks_without


class Refit(NamedTuple):
    """What the folds determine for training on all facts: the number of epochs.

    The metrics are those of the folds: validation area up to recall 0.4, and average precision.
    """

    num_epochs: int
    area: float
    average_precision: float


class CompatibleFacts:
    """The facts that a pair without relations may have: a training pair with the same types has the relation.

    Args:
        train: The training part.
        type_E: The type of each entity.
        weight: The weight of these facts in the bag term; all others have weight 1.
    """

    def __init__(self, train: Part, type_E: np.ndarray, weight: float) -> None:
        table = train.table
        types_B = combined(type_E[table.head_B], type_E[table.tail_B])
        kinds_K, self._kind_B = np.unique(types_B, return_inverse=True)
        is_seen_KR = np.zeros((len(kinds_K), train.num_relations), np.bool_)
        is_seen_KR[np.repeat(self._kind_B, table.relations.length), table.relations.value] = True
        self._weight_KR = np.where(is_seen_KR, np.float32(weight), np.float32(1.0))
        self._is_positive_B = table.is_positive_B

    def weights(self, bags: np.ndarray) -> Tensor:
        """Return weight_BR of these bags."""
        weight_BR = np.where(self._is_positive_B[bags, None], np.float32(1.0), self._weight_KR[self._kind_B[bags]])
        return torch.from_numpy(weight_BR)


@dataclass(frozen=True)
class RunData:
    """A store as read with one run's config.

    In a store with folds, either the facts of the fold `withheld` are withheld from training, and are its validation
    part with the unlabelled pairs of the fold, or the run is the `refit` on all facts, without validation. All folds
    share what the frozen layers of their encoder return (`kept`).
    """

    store: Store
    config: RunConfig
    withheld: int | None = None
    refit: Refit | None = None
    kept: KeptStates = field(default_factory=KeptStates, compare=False, repr=False)

    @cached_property
    def type_E(self) -> np.ndarray:
        """The type of each entity."""
        return np.asarray(to_numpy(self.store.entities["type"]))

    @cached_property
    def word_VW(self) -> np.ndarray:
        """The word vectors; if the store has none, random ones for the words of training sentences.

        With a pretrained encoder, all words of the store, with vectors of width 0.
        """
        if self.is_pretrained:
            return np.zeros((len(self.store.words), 0), np.float32)
        vector_VD = self.store.vector_VD
        if vector_VD.shape[1]:
            return vector_VD
        # Words of the training part have the lowest ids.
        num_words = max(1 + int((self.store.word_count[1:] > 0).sum()), 1)
        width = self.config.data.random_width
        what = f"random vectors of width {width:,} for {num_words:,} words need"
        # 8 bytes while drawing, 4 kept, and 4 in the model.
        refuse_beyond_memory(16 * num_words * width, what, "lower data.random_width")
        rng = np.random.default_rng(sub_seed(self.config.seed, "random vectors"))
        random_VD = rng.normal(0.0, 0.3, (num_words, width)).astype(np.float32)
        random_VD[0] = 0.0
        return random_VD

    @cached_property
    def entity_EV(self) -> np.ndarray:
        """The entity vectors; row 0 is for entities without one."""
        vector_EV = np.asarray(to_numpy(self.store.entities["vector"]))
        return np.concatenate([np.zeros((1, vector_EV.shape[1]), np.float32), vector_EV])

    @property
    def is_pretrained(self) -> bool:
        """Whether the encoder is pretrained and has subwords instead of word vectors."""
        return isinstance(self.config.model.encoder, TransformerConfig)

    @cached_property
    def pretrained(self) -> Pretrained | None:
        """The pretrained encoder's architecture and the subwords of all words and types, if the run has one."""
        encoder = self.config.model.encoder
        if not isinstance(encoder, TransformerConfig):
            return None
        return read_pretrained(Path(encoder.folder), self.store.words.to_pylist(), self.store.types)

    @property
    def num_relations(self) -> int:
        """The number of relations."""
        return len(self.store.relations)

    def tables(self) -> ModelTables:
        """Return the frozen vectors and sizes that the model is built from."""
        use_entities = self.config.model.use_entities
        if use_entities and self.entity_EV.shape[1] == 0:
            raise BadInputError(
                f"{self.store.folder}: the store has no entity vectors, which +E needs:"
                f" prepare it with {option('entity_vectors')} or {option('vectors')}, or set"
                " model.use_entities=false"
            )
        return ModelTables(
            word_VW=_copied(self.word_VW),
            num_types=0 if self.config.data.mentions == "words" else len(self.store.types),
            num_relations=self.num_relations,
            entity_EV=_copied(self.entity_EV) if use_entities else None,
            pretrained=self.pretrained,
        )

    def refuse_what_cannot_train(self) -> None:
        """Raise `BadInputError` if the store lacks something that the run needs."""
        folder, parts = self.store.folder, self.store.manifest["parts"]
        for name in ("train",) if self.store.num_folds else ("train", "validation"):
            if not parts.get(name, {}).get("positive_bags"):
                raise BadInputError(f"{folder}: the {name} part has no bag with a relation: prepare it with more pairs")
        if self.config.needs_types and len(self.store.types) < 2:
            raise BadInputError(
                f"{folder}: the store has no entity types, which {self.config.variant} needs: prepare it with"
                f' {option("types")}, or set data.mentions="words", loss.distractor=0 and loss.compatible_na=1'
            )
        if self.config.needs_direct:
            self._refuse_missing_direct()
        encoder = self.config.model.encoder
        if (
            isinstance(encoder, TransformerConfig)
            and encoder.reading == "spans"
            and self.config.data.mentions != "words"
        ):
            raise BadInputError(
                'model.encoder.transformer.reading = "spans" reads a sentence once for all its pairs, so it cannot'
                ' read their types: set data.mentions = "words", or reading = "markers"'
            )
        if self.config.loss.needs_marks and not len(self.marked_bags):
            raise BadInputError(self._about_missing_marks())

    def _refuse_missing_direct(self) -> None:
        """Raise `BadInputError` if the store has no directly supervised sentences, or none with the labels needed."""
        folder, needs_labels = self.store.folder, self.config.loss.needs_labels
        has_part = "direct" in self.store.manifest["parts"]
        if has_part and needs_labels and not self.store.direct_labels:
            raise BadInputError(
                f"{folder}: its directly supervised sentences have no relation labels, which"
                f' loss.direct_task="relations" needs: prepare again with labelled sentences in {option("direct")}'
            )
        if not (has_part and len(self.direct_rows)):
            who = 'loss.direct_task="relations"' if needs_labels else "DirectSup"
            raise BadInputError(
                f"{folder}: the store has no directly supervised sentences, which {who} needs:"
                f" prepare it with {option('direct')}, or set loss.direct_sentences=0"
            )

    def part(self, name: str) -> Part:
        """Return a part of the store as the model reads it."""
        return self.read(self.store.part(name))

    def read(self, table: BagTable) -> Part:
        """Return bags of the store as the model reads them."""
        return Part(table=table, inputs=self.input_of(table), num_relations=self.num_relations)

    def input_of(self, table: BagTable) -> ModelInput:
        """Return the sentences of a table as the model reads them."""
        return model_input(table, self.config.data.mentions, len(self.word_VW), self.type_E)

    @cached_property
    def train(self) -> Part:
        """The training part."""
        return self.part("train") if self.withheld is None else self.read(self._without_fold.table)

    @cached_property
    def validation(self) -> Part:
        """The validation part; of a fold, its facts and unlabelled pairs."""
        return self.part("validation") if self.withheld is None else self.read(self.fold.table)

    @cached_property
    def fold(self) -> HeldOutPairs:
        """The pairs of the fold whose facts are withheld."""
        assert self.withheld is not None
        return held_out_pairs(self.store, self.withheld)

    @cached_property
    def _without_fold(self) -> Withheld:
        assert self.withheld is not None
        return withhold(self.store.part("train"), folds_of(self.store, "train"), self.withheld)

    @cached_property
    def direct(self) -> Part | None:
        """The directly supervised sentences, if the run needs them; relation labels refer to mentions in text order."""
        if not self.config.needs_direct:
            return None
        table = self.store.part("direct")
        return self.read(in_text_order(table) if self.config.loss.needs_labels else table)

    @cached_property
    def direct_rows(self) -> np.ndarray:
        """The rows of the directly supervised sentences that the loss uses."""
        assert self.direct is not None
        table = self.direct.table
        is_taught_N = table.label_N != NO_LABEL
        return np.flatnonzero(~np.isnan(table.expresses_N) if self.config.classifies_sentences else is_taught_N)

    @cached_property
    def distractors(self) -> DistractorPool | None:
        """The pool of distractors, if the run needs them."""
        return DistractorPool(self.train.table, self.type_E) if self.config.loss.distractor else None

    @cached_property
    def compatible(self) -> CompatibleFacts | None:
        """The facts of pairs without relations that their types allow, if the run weighs them."""
        weight = self.config.loss.compatible_na
        return CompatibleFacts(self.train, self.type_E, weight) if self.config.loss.weighs_na else None

    @cached_property
    def marked(self) -> MarkedBags | None:
        """The training bags with marks, if the run needs them."""
        if not self.config.loss.needs_marks:
            return None
        marks = marks_of_store(self.store, "train")
        if self.withheld is not None:
            marks = marks_without(marks, self.store.part("train"), self._without_fold)
        return MarkedBags(self.train.table, marks)

    @cached_property
    def marked_bags(self) -> np.ndarray:
        """The indices of the marked bags that the loss uses: without `mark_score`, those with a ranking."""
        assert self.marked is not None
        return self.marked.all_bags if self.config.loss.mark_score else self.marked.ranked_bags

    def _about_missing_marks(self) -> str:
        if self.marked is not None and len(self.marked.all_bags):
            return (
                f"{self.store.folder}: no fact of the training part has both rationale and irrelevant sentences, which"
                " loss.mark_ranking needs: set loss.mark_score, or mark more sentences"
            )
        return (
            f"{self.store.folder}: the store has no marks on training sentences, which loss.mark_score and"
            f" loss.mark_ranking need: prepare it with {option('marks')}, or set both to 0"
        )


def _copied(matrix: np.ndarray) -> Tensor:
    """Return a copy as a tensor: memory-mapped arrays are read-only."""
    return torch.from_numpy(np.array(matrix, np.float32))
