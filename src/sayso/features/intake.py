"""Sentences of one's own on their way to a trained model: rewritten, numbered by its lexicon, made a `Part`."""

from dataclasses import dataclass, replace

import numpy as np

from sayso.bags.group import BagBuilder
from sayso.bags.vocabulary import Vocabulary
from sayso.features.collate import Part
from sayso.features.lexicon import Lexicon, Recognised, TypesById
from sayso.features.present import present
from sayso.records import Sentence


@dataclass(frozen=True, kw_only=True)
class Taken:
    """Bags as a model reads them, whose they are, and how the model sees their entities.

    `head_B` and `tail_B` are places in `entity_ids` and `names`.
    """

    part: Part
    head_B: np.ndarray
    tail_B: np.ndarray
    entity_ids: list[str]
    names: list[str]
    recognised: Recognised
    num_repeated: int
    num_too_far_apart: int


class Intake:
    """Takes sentences one by one and holds only numbers; `finish` makes bags of them."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self._vocabulary = Vocabulary()
        self._vocabulary.words = lexicon.numbering
        self._builder = BagBuilder(self._vocabulary, lexicon.max_tokens)

    def add(self, sentence: Sentence) -> bool:
        """Take a sentence; what its line claims does not matter. False: its mentions are too far apart to be read."""
        num_before = self._builder.num_too_far_apart
        self._builder.add(self.lexicon.rewrite(sentence)._replace(relations=(), source=None, expresses=None))
        return self._builder.num_too_far_apart == num_before

    def finish(self, num_relations: int, types: TypesById, bag_N: np.ndarray | None = None) -> Taken:
        """Return the bags: one for each pair with its distinct sentences, or as `bag_N` says, each sentence kept."""
        grouped = self._builder.finish(bag_N)
        table, lexicon = grouped.table, self.lexicon
        entity_ids = list(self._vocabulary.entities)
        names = [self._vocabulary.entity_name.get(number, "") for number in range(len(entity_ids))]
        recognised = lexicon.recognise(entity_ids, names, types)
        presented = present(table, lexicon.mentions, len(lexicon.words), recognised.type_L)
        number_L = recognised.number_L
        # From here on the model's own numbers; the unknown entity's -1 becomes row 0 of the entity vectors.
        known = replace(table, head_B=number_L[table.head_B], tail_B=number_L[table.tail_B])
        return Taken(
            part=Part(table=known, presented=presented, num_relations=num_relations),
            head_B=table.head_B,
            tail_B=table.tail_B,
            entity_ids=entity_ids,
            names=names,
            recognised=recognised,
            num_repeated=grouped.num_repeated,
            num_too_far_apart=grouped.num_too_far_apart,
        )
