"""Small news articles in natural text, and the truth about what they state."""

import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sayso.invent.choose import Pair
from sayso.invent.names import Entity
from sayso.invent.natural import NaturalText, natural_text
from sayso.invent.phrase import HEAD, TAIL, Phraser
from sayso.invent.relations import strongest
from sayso.invent.sample import Sampler

_STATING_SHARE, _PLAIN_SHARE, _ALIAS_SHARE = 0.6, 0.3, 0.5


class Document(NamedTuple):
    """An article, and one record for each of its sentences that names a pair."""

    id: str
    text: str
    mentions: list[dict[str, Any]]


class Reporter:
    """Writes articles about related pairs."""

    def __init__(
        self,
        pairs: Sequence[Pair],
        entities: Sequence[Entity],
        sampler: Sampler,
        phraser: Phraser,
        rng: random.Random,
    ) -> None:
        self._pairs, self._entities, self._sampler, self._phraser, self._rng = pairs, entities, sampler, phraser, rng

    def documents(self, number: int) -> Iterator[Document]:
        """Yield so many articles of three to nine sentences."""
        for index in range(number):
            yield self._document(f"d.{index:05d}")

    def _document(self, document_id: str) -> Document:
        text, mentions, named = "", [], set[int]()
        for pair in self._rng.choices(self._pairs, k=self._rng.randint(2, 4)):
            for _ in range(self._rng.randint(1, 2)):
                sentence, record = self._sentence(pair, named)
                text, start = _joined(text, sentence.text)
                mentions.append({"document": document_id, **_moved(record, sentence, start)})
            if self._rng.random() < _PLAIN_SHARE:
                text, _ = _joined(text, natural_text(self._phraser.plain(), {}).text)
        return Document(document_id, text, mentions)

    def _sentence(self, pair: Pair, named: set[int]) -> tuple[NaturalText, dict[str, Any]]:
        is_stating = self._rng.random() < _STATING_SHARE
        wording = (
            self._sampler.stating(self._rng.choice(strongest(pair.relations)))
            if is_stating
            else self._sampler.neutral(pair.head, pair.tail)
        )
        names = {HEAD: self._called(pair.head, named), TAIL: self._called(pair.tail, named)}
        head, tail = self._entities[pair.head], self._entities[pair.tail]
        record = {"head": head.id, "tail": tail.id, "relations": list(wording.states)}
        return natural_text(self._phraser.sentence(wording).tokens, names), record

    def _called(self, number: int, named: set[int]) -> str:
        """Return the name, or a shorter one where the article has given the name before."""
        entity = self._entities[number]
        if number in named and entity.aliases and self._rng.random() < _ALIAS_SHARE:
            return entity.aliases[0]
        named.add(number)
        return entity.name


def _joined(text: str, sentence: str) -> tuple[str, int]:
    start = len(text) + 1 if text else 0
    return f"{text} {sentence}" if text else sentence, start


def _moved(record: dict[str, Any], sentence: NaturalText, start: int) -> dict[str, Any]:
    """Return the record with the sentence's and its mentions' places in the article."""
    return record | {
        "start": start,
        "stop": start + len(sentence.text),
        "head_spans": [[start + a, start + b] for a, b in sentence.spans[HEAD]],
        "tail_spans": [[start + a, start + b] for a, b in sentence.spans[TAIL]],
    }
