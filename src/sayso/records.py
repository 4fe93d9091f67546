"""The words everybody uses: frozen records that travel between the layers.

Spans count tokens, from `start` up to but not including `stop`. NA is not a relation but the empty set of relations.
"""

from collections.abc import Sequence
from typing import NamedTuple

NA_NAMES = frozenset({"NA", "no_relation", "Other"})
"""How corpora write "none of the relations"; readers turn each of them into the empty set."""


class Span(NamedTuple):
    """A stretch of tokens, half open."""

    start: int
    stop: int

    def overlaps(self, other: "Span") -> bool:
        """Say whether the two stretches share a token."""
        return self.start < other.stop and other.start < self.stop


class Mention(NamedTuple):
    """An entity as one sentence names it, once or several times."""

    entity_id: str
    name: str
    spans: tuple[Span, ...]


class Source(NamedTuple):
    """Where a sentence stands in its document, in characters."""

    document_id: str
    start: int
    stop: int


class Sentence(NamedTuple):
    """Tokens with a head and a tail mention, and what its line claims about the pair.

    `expresses` is for directly supervised sentences only: how sure a person is that the sentence states a relation
    of the knowledge base between the two (1 yes, 0 no); None where nobody has said.
    """

    tokens: tuple[str, ...]
    head: Mention
    tail: Mention
    relations: tuple[str, ...] = ()
    source: Source | None = None
    expresses: float | None = None

    @property
    def text(self) -> str:
        """The tokens joined by spaces."""
        return " ".join(self.tokens)

    @property
    def pair(self) -> tuple[str, str]:
        """Head and tail entity ids, in this order."""
        return self.head.entity_id, self.tail.entity_id


class Bag(NamedTuple):
    """The distinct sentences of one entity pair and the relations the knowledge base holds for it."""

    head_id: str
    tail_id: str
    sentences: tuple[Sentence, ...]
    relations: frozenset[str] = frozenset()

    @classmethod
    def from_sentences(cls, sentences: Sequence[Sentence]) -> "Bag":
        """Return the bag of sentences that all name the same pair."""
        pairs = {sentence.pair for sentence in sentences}
        if len(pairs) != 1:
            raise ValueError(f"a bag has the sentences of one pair, not of {len(pairs)}")
        ((head_id, tail_id),) = pairs
        labels = frozenset(relation for sentence in sentences for relation in sentence.relations)
        return cls(head_id, tail_id, tuple(sentences), labels)


class Relation(NamedTuple):
    """A relation of the inventory; definition and example are empty where the inventory gives none."""

    name: str
    definition: str = ""
    example: str = ""
    is_functional: bool = False


class Triple(NamedTuple):
    """A fact of a knowledge graph."""

    head_id: str
    relation: str
    tail_id: str


class Judgement(NamedTuple):
    """One person's mark: whether a sentence says that the pair stands in the relation.

    `label` is `rationale`, `irrelevant`, or anything else for "neither" (unsure, indirect).
    """

    head_id: str
    tail_id: str
    relation: str
    sentence: str
    label: str
    annotator: str = ""


def sentence_key(text: str) -> str:
    """Return the form in which two sentences are the same sentence: names joined by `_` or not.

    One sentence serves many pairs, and corpora join the two names of each pair (`el_paso`), so that the same
    sentence is written differently for every pair.

    >>> sentence_key("from el_paso to del rio")
    'from el paso to del rio'
    """
    return text.replace("_", " ")
