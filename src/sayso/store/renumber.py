"""Sentences that another process has read: numbered by a vocabulary of their own, and brought into the common one.

Portions that are joined in the order of the corpus give the same numbers as one process that reads all of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sayso.errors import UserError
from sayso.readers import READERS
from sayso.readers.base import BadLine
from sayso.readers.file_piece import FilePiece
from sayso.readers.read import outside
from sayso.records import Sentence
from sayso.store.collect import Collected
from sayso.store.decisions import Overruled
from sayso.store.group import BagBuilder, Lines
from sayso.store.rows import Rows
from sayso.store.vocabulary import Vocabulary


class Portion(NamedTuple):
    """The sentences of a piece with the vocabulary they are numbered by, and how reading went.

    `hashed` is the hash of a certain text: hashes of sentences can be compared only where it is the same.
    """

    piece: FilePiece
    lines: Lines
    vocabulary: Vocabulary
    bad: list[tuple[int, str]]
    num_lines: int
    num_good: int
    overruled: Overruled
    hashed: int


@dataclass(frozen=True, kw_only=True)
class PortionReader:
    """Reads pieces; has no state, so any process may do it. With an inventory, other relations are bad lines."""

    max_tokens: int
    relations: Sequence[str] | None
    overruled: Overruled
    rest: frozenset[str] = frozenset()
    """Files of which only judged pairs are taken."""

    def __call__(self, piece: FilePiece) -> Portion:
        """Return the piece's sentences."""
        vocabulary = Vocabulary(self.relations or ())
        known = None if self.relations is None else frozenset(self.relations)
        builder, reading = BagBuilder(vocabulary, self.max_tokens), _Reading(piece, known)
        overruled = Overruled(self.overruled.accepted, self.overruled.rejected)
        sentences = reading.sentences()
        taken = ((), sentences) if piece.file in self.rest else (sentences, ())
        for sentence in overruled.of_training(*taken):
            builder.add(sentence)
        return Portion(
            piece,
            builder.lines(),
            vocabulary,
            reading.bad,
            reading.num_lines,
            reading.num_good,
            overruled,
            hash("sayso"),
        )


class _Reading:
    """The sentences of a piece, its bad lines counted."""

    def __init__(self, piece: FilePiece, relations: frozenset[str] | None) -> None:
        self.piece, self.relations = piece, relations
        self.num_lines = self.num_good = 0
        self.bad: list[tuple[int, str]] = []

    def sentences(self) -> Iterator[Sentence]:
        """Yield the sentences that can be read."""
        for number, item in READERS[self.piece.form].read(self._counted()):
            reason = item.reason if isinstance(item, BadLine) else outside(item, self.relations)
            if reason:
                self.bad.append((number, reason))
            else:
                assert isinstance(item, Sentence)
                self.num_good += 1
                yield item

    def _counted(self) -> Iterator[tuple[int, str | BadLine]]:
        for line in self.piece.lines():
            self.num_lines += 1
            yield line


class Joining:
    """Takes portions in the order of the corpus, and gives all their lines in the numbers of one vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._lines: list[Lines] = []
        self._hashed: int | None = None

    def add(self, portion: Portion) -> None:
        """Take the next portion."""
        if self._hashed not in (None, portion.hashed):
            raise UserError("workers hash texts differently: start all of the cluster with the same PYTHONHASHSEED")
        self._hashed = portion.hashed
        self._lines.append(_renumbered(portion, self.vocabulary))

    def lines(self) -> Lines:
        """Return all lines."""
        found = self._lines
        return Lines(
            collected=_joined([each.collected for each in found]),
            relations=_joined_rows([each.relations for each in found]),
            expresses_N=np.concatenate([each.expresses_N for each in found]),
            document_N=np.concatenate([each.document_N for each in found]),
            place_N2=np.concatenate([each.place_N2 for each in found]),
            glued=_joined_rows([each.glued for each in found]),
            curly=_joined_rows([each.curly for each in found]),
            key_N=np.concatenate([each.key_N for each in found]),
            left_out=frozenset().union(*(each.left_out for each in found)),
            num_read=sum(each.num_read for each in found),
            num_too_far_apart=sum(each.num_too_far_apart for each in found),
        )


def _renumbered(portion: Portion, vocabulary: Vocabulary) -> Lines:
    """Return the portion's lines in the numbers of the common vocabulary, which learns what is new."""
    lines, own = portion.lines, portion.vocabulary
    words, entities = _numbers(own.words, vocabulary.words), _numbers(own.entities, vocabulary.entities)
    relations = _numbers(own.relations, vocabulary.relations)
    documents = np.append(_numbers(own.documents, vocabulary.documents), np.int32(-1))  # -1, no document, stays so
    for number, name in own.entity_name.items():
        vocabulary.entity_name.setdefault(int(entities[number]), name)
    collected = lines.collected
    return lines._replace(
        collected=collected._replace(
            head_N=entities[collected.head_N],
            tail_N=entities[collected.tail_N],
            tokens=Rows(words[collected.tokens.value], collected.tokens.start),
        ),
        relations=Rows(relations[lines.relations.value], lines.relations.start),
        document_N=documents[lines.document_N],
        left_out=frozenset((int(entities[h]), int(entities[t]), int(relations[r])) for h, t, r in lines.left_out),
    )


def _numbers(own: Mapping[str, int], common: Mapping[str, int]) -> np.ndarray:
    """Return the common number of each key, in the order of its own numbers; new keys get the next ones."""
    return np.array([common[key] for key in own], np.int32)


def _joined(found: Sequence[Collected]) -> Collected:
    def column(name: str) -> np.ndarray:
        return np.concatenate([getattr(each, name) for each in found])

    return Collected(
        head_N=column("head_N"),
        tail_N=column("tail_N"),
        text_N=column("text_N"),
        window_N2=column("window_N2"),
        tokens=_joined_rows([each.tokens for each in found]),
        head_spans=_joined_rows([each.head_spans for each in found]),
        tail_spans=_joined_rows([each.tail_spans for each in found]),
    )


def _joined_rows(found: Sequence[Rows]) -> Rows:
    return Rows.of_lengths(
        np.concatenate([each.value for each in found]), np.concatenate([each.length for each in found])
    )
