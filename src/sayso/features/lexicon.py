"""The words and entities that a trained model knows, with the types of the entities.

Shapes: V words, E entities of the model, L entities in a user's sentences.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sayso.features.mentions import Appearance, ModelInput, model_input
from sayso.features.subwords import Subwords
from sayso.records import Sentence, sentence_key
from sayso.store.block import SentenceBlock
from sayso.store.direct import CorpusForm, lowered, rewrite
from sayso.store.table import BagTable
from sayso.store.vocabulary import ClosedNumbering, Numbering

TypesById = Mapping[str, str | Sequence[str]]
"""Maps an entity's id (or its name) to its type or types."""

UNKNOWN_ENTITY = -1


class Entities(NamedTuple):
    """L entities in a user's sentences, with the model's id (or UNKNOWN_ENTITY) and type for each.

    `num_unknown` have no entity vector; `num_untyped` of those have no type either and count as `/other`.
    """

    ids: Sequence[str]
    names: Sequence[str]
    number_L: np.ndarray
    type_L: np.ndarray
    num_unknown: int
    num_untyped: int


@dataclass(frozen=True, kw_only=True)
class Lexicon:
    """A model's V words (word 0 is the unknown word), its entities and types, and the style of its sentences.

    With `subwords`, the model can read any word.
    """

    words: list[str]
    entity_ids: list[str]
    entity_names: list[str]
    type_E: np.ndarray
    types: list[str]
    form: CorpusForm
    mentions: Appearance
    max_tokens: int
    subwords: Subwords | None = None

    @cached_property
    def numbering(self) -> Numbering:
        """The id of each word."""
        return self.subwords.numbering if self.subwords else ClosedNumbering(self.words)

    def input_of(self, table: BagTable, type_E: np.ndarray) -> ModelInput:
        """Convert sentences with the ids of this lexicon to model input; `type_E` has the type of each entity."""
        return model_input(table, self.mentions, len(self.words), type_E, is_open=self.subwords is not None)

    def text_of(self, token: int) -> str:
        """Return the word or entity type with this id in the model's input."""
        if token < len(self.words):
            return self.words[token]
        number = token - len(self.words)
        if self.subwords is None or number < len(self.types):
            return self.types[number]
        return self.subwords.numbering.added[number - len(self.types)]

    def rewrite(self, sentence: Sentence) -> Sentence:
        """Rewrite the sentence in the style of the model's corpus; names whose joined form is unknown are not joined.

        Mentions keep their names, which identify the entities.
        """
        return rewrite(sentence, self.form, self.numbering)

    def numbers_of(self, block: SentenceBlock) -> np.ndarray | None:
        """Return the ids of the distinct words of a block, rewritten like sentences; None if that takes whole ones."""
        words, is_long = block.tokens.values, False
        if self.form.is_joined:
            spans = np.concatenate([block.head_spans.value, block.tail_spans.value]).reshape(-1, 2)
            is_long = bool((spans[:, 1] - spans[:, 0] > 1).any())
        # Words that are added meanwhile would change how later sentences are rewritten.
        if is_long or (self.form.is_lower and self.subwords):
            return None
        known = self.numbering
        if self.form.is_lower:
            words = lowered(words, known)
        return np.array([known[word] for word in words], np.int32)

    def recognise(self, ids: Sequence[str], names: Sequence[str], types: TypesById) -> Entities:
        """Look up entities by id, else by name (the first if several match); others are unknown.

        Given types take precedence over the model's own.
        """
        number_L = np.array([self._number(*entity) for entity in zip(ids, names, strict=True)], np.int64)
        type_L = np.append(self.type_E, 0)[number_L]  # UNKNOWN_ENTITY selects the last value
        for index, (entity_id, name) in enumerate(zip(ids, names, strict=True)):
            given = types.get(entity_id) or types.get(name) or ()
            type_L[index] = self._finest((given,) if isinstance(given, str) else given) or type_L[index]
        is_unknown_L = number_L == UNKNOWN_ENTITY
        num_untyped = int((is_unknown_L & (type_L == 0)).sum())
        return Entities(ids, names, number_L, type_L, int(is_unknown_L.sum()), num_untyped)

    def _number(self, entity_id: str, name: str) -> int:
        number = self._by_id.get(entity_id)
        return self._by_name.get(self._name_key(name), UNKNOWN_ENTITY) if number is None else number

    def _finest(self, kinds: Sequence[str]) -> int:
        """Return the most specific known type among these and their ancestors; 0 if none is known."""
        known = []
        for kind in kinds:
            while kind and kind not in self._type_number:
                kind = kind.rpartition("/")[0]
            known += [kind] if kind else []
        return self._type_number[max(known, key=lambda kind: kind.count("/"))] if known else 0

    def _name_key(self, name: str) -> str:
        key = sentence_key(name)
        return key.lower() if self.form.is_lower else key

    @cached_property
    def _by_id(self) -> dict[str, int]:
        return {entity_id: number for number, entity_id in enumerate(self.entity_ids)}

    @cached_property
    def _by_name(self) -> dict[str, int]:
        numbers: dict[str, int] = {}
        for number, name in enumerate(self.entity_names):
            if name:
                numbers.setdefault(self._name_key(name), number)
        return numbers

    @cached_property
    def _type_number(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.types)}
