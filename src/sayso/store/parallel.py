"""Read the sentences of a store with an engine's workers, with the same result as in a single process.

Each worker assigns ids to the words and entities of its piece of the corpus; the results are then mapped to the ids of
the common vocabulary, in corpus order.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sayso.engine.base import Engine
from sayso.errors import UserError, option
from sayso.input_file import is_pipe
from sayso.readers import READERS
from sayso.readers.base import BadLine, Line
from sayso.readers.file_piece import FilePiece, files_with_text, new_pieces
from sayso.readers.files import files_of
from sayso.readers.read import Tally, outside
from sayso.records import Sentence
from sayso.store.collect import Collected
from sayso.store.decisions import FactDecisions
from sayso.store.group import BagBuilder, Lines
from sayso.store.inputs import SentenceFiles
from sayso.store.rows import Rows
from sayso.store.table import NO_DOCUMENT
from sayso.store.vocabulary import Vocabulary

PIECE_BYTES = 16 * 2**20


@dataclass(frozen=True, kw_only=True)
class ParallelReader:
    """Reads files with an engine's workers; the result is the same as in a single process."""

    files: SentenceFiles
    engine: Engine
    max_tokens: int

    def read(
        self, roles: Sequence[str], vocabulary: Vocabulary, relations: Sequence[str] | None, decisions: FactDecisions
    ) -> Lines:
        """Return the lines in the files of these roles; raise `BadInputError` if a file has too many bad lines.

        From the role `rest`, only pairs with a decision are read; decisions override the labels.
        """
        named = [(name, path) for name, path in self.files.inputs.files() if name.split()[0] in roles]
        if any(is_pipe(path) for _, path in named):
            raise UserError(f"workers cannot read from a pipe: leave out {option('engine')}, or use a file")
        name_of = {str(file): name for name, path in named for file in files_with_text(path, files_of(path))}
        rest = frozenset(file for file, name in name_of.items() if name == "rest")
        reader = _PieceReader(max_tokens=self.max_tokens, relations=relations, decisions=decisions, rest=rest)
        pieces = list(new_pieces([Path(file) for file in name_of], [], "auto", PIECE_BYTES))
        tallies = {name: self.files.tallies.setdefault(name, Tally(path)) for name, path in named}
        lines, num_before, num_bytes = list[Lines](), dict.fromkeys(name_of, 0), 0
        for found in _in_order(self.engine(reader, pieces)):
            num_bytes += found.piece.size
            self.files.on_progress(f"reading {roles[0]}", num_bytes, sum(piece.size for piece in pieces))
            lines.append(_renumbered(found, vocabulary))
            decisions.add_counts(found.decisions)
            _count(tallies[name_of[found.piece.file]], found, num_before)
        for tally in tallies.values():
            tally.refuse_too_many_bad(self.files.max_bad_share)
        return _joined(lines)


class _PieceLines(NamedTuple):
    """The sentences of a piece with their own vocabulary, and its bad lines with their line numbers."""

    piece: FilePiece
    lines: Lines
    vocabulary: Vocabulary
    decisions: FactDecisions
    bad: list[tuple[int, str]]
    num_lines: int
    num_good: int


@dataclass(frozen=True, kw_only=True)
class _PieceReader:
    """Reads pieces; stateless, so any process can run it. With an inventory, lines with other relations are bad.

    From the files of `rest`, only pairs with a decision are read.
    """

    max_tokens: int
    relations: Sequence[str] | None
    decisions: FactDecisions
    rest: frozenset[str] = frozenset()

    def __call__(self, piece: FilePiece) -> _PieceLines:
        """Return the piece's sentences."""
        vocabulary, decisions = Vocabulary(self.relations or ()), self.decisions.without_counts()
        builder, bad, num_lines = BagBuilder(vocabulary, self.max_tokens), list[tuple[int, str]](), 0
        num_good = 0
        known = None if self.relations is None else frozenset(self.relations)

        def lines() -> Iterator[Line]:
            nonlocal num_lines
            for line in piece.lines():
                num_lines += 1
                yield line

        def sentences() -> Iterator[Sentence]:
            nonlocal num_good
            for number, item in READERS[piece.form].read(lines()):
                if isinstance(item, BadLine):
                    bad.append((number, item.reason))
                elif reason := outside(item, known):
                    bad.append((number, reason))
                else:
                    num_good += 1
                    yield item

        read = ((), sentences()) if piece.file in self.rest else (sentences(), ())
        for sentence in decisions.applied(*read):
            builder.add(sentence)
        return _PieceLines(piece, builder.lines(), vocabulary, decisions, bad, num_lines, num_good)


def _in_order(results: Iterable[_PieceLines]) -> Iterator[_PieceLines]:
    """Yield the results in the order of the pieces, whichever finishes first."""
    waiting: dict[int, _PieceLines] = {}
    following = 0
    for found in results:
        waiting[found.piece.number] = found
        while following in waiting:
            yield waiting.pop(following)
            following += 1


def _count(tally: Tally, found: _PieceLines, num_before: dict[str, int]) -> None:
    """Count good and bad lines, with line numbers relative to the whole file."""
    file = found.piece.file
    tally.form = found.piece.form
    tally.num_good += found.num_good
    for number, reason in found.bad:
        tally.count_bad(Path(file), num_before[file] + number, reason)
    num_before[file] += found.num_lines


def _renumbered(found: _PieceLines, vocabulary: Vocabulary) -> Lines:
    """Map the lines to the ids of the common vocabulary, adding new words and entities to it."""
    (collected, left_out, *counts), own = found.lines, found.vocabulary
    words, entities = _numbers(own.words, vocabulary.words), _numbers(own.entities, vocabulary.entities)
    relations = _numbers(own.relations, vocabulary.relations)
    # Index -1 (NO_DOCUMENT) selects the last value.
    documents = np.append(_numbers(own.documents, vocabulary.documents), np.int32(NO_DOCUMENT))
    for number, name in own.entity_name.items():
        vocabulary.entity_name.setdefault(int(entities[number]), name)
    renumbered = collected._replace(
        head_N=entities[collected.head_N],
        tail_N=entities[collected.tail_N],
        tokens=Rows(words[collected.tokens.value], collected.tokens.start),
        relations=Rows(relations[collected.relations.value], collected.relations.start),
        document_N=documents[collected.document_N],
    )
    return Lines(
        renumbered, frozenset((int(entities[h]), int(entities[t]), int(relations[r])) for h, t, r in left_out), *counts
    )


def _numbers(own: Mapping[str, int], common: Mapping[str, int]) -> np.ndarray:
    """Return the common id of each key, in the order of its own ids; new keys get the next free ids."""
    return np.array([common[key] for key in own], np.int32)


def _joined(found: Sequence[Lines]) -> Lines:
    columns = (
        Rows.concatenate(parts) if isinstance(parts[0], Rows) else np.concatenate(parts)
        for parts in zip(*(lines.collected for lines in found), strict=True)
    )
    return Lines(
        Collected(*columns),  # type: ignore[arg-type]
        frozenset().union(*(lines.left_out for lines in found)),
        sum(lines.num_read for lines in found),
        sum(lines.num_too_far_apart for lines in found),
    )
