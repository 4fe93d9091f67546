"""Read the sentences of a store with an engine's workers, with the same result as in a single process.

Each worker assigns ids to the words and entities of its piece of the corpus; the results are then mapped to the ids of
the common vocabulary, in corpus order.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sayso.engine import Engine
from sayso.errors import UserError, option
from sayso.input_file import is_pipe
from sayso.readers import READERS
from sayso.readers.base import Line
from sayso.readers.file_piece import FilePiece, files_with_text, new_pieces
from sayso.readers.files import files_of
from sayso.readers.read import Tally, good_sentences
from sayso.records import Sentence
from sayso.store.group import BagBuilder, Lines
from sayso.store.inputs import FactDecisions, SentenceFiles
from sayso.store.rows import Rows
from sayso.store.table import NO_DOCUMENT, BagTable
from sayso.store.vocabulary import Vocabulary

PIECE_BYTES = 16 * 2**20


def read_with_workers(
    engine: Engine,
    files: SentenceFiles,
    roles: Sequence[str],
    vocabulary: Vocabulary,
    relations: Sequence[str] | None,
    decisions: FactDecisions,
) -> Lines:
    """Return the lines in the files of these roles; raise `BadInputError` if a file has too many bad lines.

    From the role `rest`, only pairs with a decision are read; decisions override the labels.
    """
    named = [(name, path) for name, path in files.inputs.files() if name.split()[0] in roles]
    if any(is_pipe(path) for _, path in named):
        raise UserError(f"workers cannot read from a pipe: leave out {option('engine')}, or use a file")
    name_of = {str(file): name for name, path in named for file in files_with_text(path, files_of(path))}
    rest = frozenset(file for file, name in name_of.items() if name == "rest")
    reader = _PieceReader(files.settings.max_tokens, relations, decisions, rest)
    pieces = list(new_pieces([Path(file) for file in name_of], [], "auto", PIECE_BYTES))
    tallies = {name: files.tallies.setdefault(name, Tally(path)) for name, path in named}
    lines, num_before, num_bytes = list[Lines](), dict.fromkeys(name_of, 0), 0
    for piece, found, own, decided, bad, num_lines, num_good in _in_order(engine(reader, pieces)):
        num_bytes += piece.size
        files.on_progress(f"reading {roles[0]}", num_bytes, sum(each.size for each in pieces))
        lines.append(_renumbered(found, own, vocabulary))
        decisions.add_counts(decided)
        tally = tallies[name_of[piece.file]]
        tally.form = piece.form
        tally.num_good += num_good
        for number, reason in bad:
            tally.count_bad(Path(piece.file), num_before[piece.file] + number, reason)
        num_before[piece.file] += num_lines
    for tally in tallies.values():
        tally.refuse_too_many_bad(files.settings.max_bad_share)
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


@dataclass(frozen=True)
class _PieceReader:
    """Reads pieces; stateless, so any process can run it. With an inventory, lines with other relations are bad.

    From the files of `rest`, only pairs with a decision are read.
    """

    max_tokens: int
    relations: Sequence[str] | None
    decisions: FactDecisions
    rest: frozenset[str]

    def __call__(self, piece: FilePiece) -> _PieceLines:
        """Return the piece's sentences."""
        vocabulary, decisions = Vocabulary(self.relations or ()), self.decisions.without_counts()
        builder, bad = BagBuilder(vocabulary, self.max_tokens), list[tuple[int, str]]()
        known = None if self.relations is None else frozenset(self.relations)
        num_lines = num_good = 0

        def lines() -> Iterator[Line]:
            nonlocal num_lines
            for line in piece.lines():
                num_lines += 1
                yield line

        def sentences() -> Iterator[Sentence]:
            nonlocal num_good
            for sentence in good_sentences(READERS[piece.form].read(lines()), known, lambda *line: bad.append(line)):
                num_good += 1
                yield sentence

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


def _renumbered(lines: Lines, own: Vocabulary, vocabulary: Vocabulary) -> Lines:
    """Map the lines to the ids of the common vocabulary, adding new words and entities to it."""
    table, left_out, *counts = lines
    words, entities = _numbers(own.words, vocabulary.words), _numbers(own.entities, vocabulary.entities)
    relations = _numbers(own.relations, vocabulary.relations)
    # Index -1 (NO_DOCUMENT) selects the last value.
    documents = np.append(_numbers(own.documents, vocabulary.documents), np.int32(NO_DOCUMENT))
    for number, name in own.entity_name.items():
        vocabulary.entity_name.setdefault(int(entities[number]), name)
    renumbered = replace(
        table,
        head_B=entities[table.head_B],
        tail_B=entities[table.tail_B],
        tokens=Rows(words[table.tokens.value], table.tokens.start),
        relations=Rows(relations[table.relations.value], table.relations.start),
        document_N=documents[table.document_N],
    )
    facts = frozenset((int(entities[h]), int(entities[t]), int(relations[r])) for h, t, r in left_out)
    return Lines(renumbered, facts, *counts)


def _numbers(own: Mapping[str, int], common: Mapping[str, int]) -> np.ndarray:
    """Return the common id of each key, in the order of its own ids; new keys get the next free ids."""
    return np.array([common[key] for key in own], np.int32)


def _joined(found: Sequence[Lines]) -> Lines:
    tables, left_out, num_read, num_too_far_apart = zip(*found, strict=True)
    facts = frozenset[tuple[int, int, int]]().union(*left_out)
    return Lines(BagTable.concatenate(tables), facts, sum(num_read), sum(num_too_far_apart))
