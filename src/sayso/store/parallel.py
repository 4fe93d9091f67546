"""Read sentences in blocks, or with an engine's workers, with the same result as line by line in a single process.

Each worker assigns ids to the words and entities of its piece of the corpus; the results are then mapped to the ids of
the common vocabulary, in corpus order.
"""

import io
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sayso.engine import Engine
from sayso.errors import UserError, option
from sayso.input_file import holds_no, is_pipe, open_bytes
from sayso.readers import READERS
from sayso.readers.base import Line
from sayso.readers.file_piece import FilePiece, files_with_text, new_pieces
from sayso.readers.files import MAX_LINE_BYTES, OnBytes, files_of
from sayso.readers.read import Tally, form_of, good_sentences, reported, sentences_of_file
from sayso.records import Sentence
from sayso.store.block import FORM, SentenceBlock, lines_of_block, parse_block
from sayso.store.collect import BagBuilder, Lines
from sayso.store.inputs import FactDecisions, SentenceFiles
from sayso.store.rows import Rows
from sayso.store.table import NO_DOCUMENT, BagTable
from sayso.store.vocabulary import Vocabulary

BLOCK_BYTES, SMALL_BLOCK_BYTES, PIECE_BYTES = 4 * 2**20, 2**18, 16 * 2**20
"""A block with anything unusual is cut into small ones, of which only some are read line by line."""
_GZIP = b"\x1f\x8b"

_Parsed = tuple[bytes, SentenceBlock | None]


def read_blocks(
    path: Path,
    tally: Tally,
    relations: Collection[str] | None = None,
    on_bytes: OnBytes | None = None,
    num_threads: int = 1,
) -> Iterator[Sentence | SentenceBlock]:
    """Yield the same sentences as `read_sentences`, in the same order, most of them in blocks.

    Plain files in the format `jsonl` are read in bulk, the others line by line.
    """
    num_before = 0
    with ThreadPoolExecutor(num_threads, thread_name_prefix="sayso-read") as pool:
        for file in files_of(path):
            on_file = partial(reported, on_bytes, num_before) if on_bytes else None
            if _is_plain(file) and form_of(file, tally) == FORM:
                yield from _of_file(file, tally, relations, on_file, partial(_ahead, pool, num_threads))
            else:
                yield from sentences_of_file(file, tally, relations, on_file)
            num_before += file.stat().st_size if file.is_file() else 0
    if not tally.num_good and not tally.num_bad:
        raise holds_no(path, "sentences")


def _is_plain(file: Path) -> bool:
    if not file.is_file() or is_pipe(file):
        return False
    with file.open("rb") as stream:
        return stream.read(2) != _GZIP


def _of_file(
    file: Path,
    tally: Tally,
    relations: Collection[str] | None,
    on_bytes: OnBytes | None,
    parsed: Callable[[Iterable[bytes]], Iterator[_Parsed]],
) -> Iterator[Sentence | SentenceBlock]:
    done = 0

    def on_block(data: bytes) -> None:
        nonlocal done
        done += len(data)
        if on_bytes:
            on_bytes(done)

    blocks = parsed(_blocks_between(file, 0, file.stat().st_size))
    for item in _items(blocks, relations, partial(tally.count_bad, file), on_block):
        tally.num_good += len(item) if isinstance(item, SentenceBlock) else 1
        yield item


def _items(
    blocks: Iterable[_Parsed],
    relations: Collection[str] | None,
    on_bad: Callable[[int, str], None],
    on_block: Callable[[bytes], None],
) -> Iterator[Sentence | SentenceBlock]:
    """Yield blocks, or the sentences of those that are not read in bulk; call `on_bad` with bad lines."""
    num_lines = 0
    for data, block in blocks:
        if block and (relations is None or all(name in relations for name in block.relations.values)):
            yield block
        else:
            lines = ((num_lines + number, line) for number, line in lines_of_block(data))
            yield from good_sentences(READERS[FORM].read(lines), relations, on_bad)
        num_lines += data.count(b"\n")
        on_block(data)


def _blocks_between(path: Path, start: int, stop: int) -> Iterator[bytes]:
    """Yield the bytes of an uncompressed file from `start` to `stop`, the ends of lines, in blocks of whole lines."""
    with open_bytes(path) as (_, stream):
        stream.seek(start)
        while data := stream.read(min(BLOCK_BYTES, stop - stream.tell())):
            parts = [data]
            while parts[-1] and not parts[-1].endswith(b"\n"):
                parts.append(stream.readline(MAX_LINE_BYTES))
            yield b"".join(parts)


def _ahead(pool: ThreadPoolExecutor, num_threads: int, blocks: Iterable[bytes]) -> Iterator[_Parsed]:
    """Yield each block and its columns; a few blocks are parsed in advance."""
    waiting = deque[Future[list[_Parsed]]]()
    for data in blocks:
        waiting.append(pool.submit(_parsed, data))
        if len(waiting) > num_threads:
            yield from waiting.popleft().result()
    for parsed in waiting:
        yield from parsed.result()


def _parsed(data: bytes) -> list[_Parsed]:
    """Return a block with its columns, or the small blocks that it is cut into."""
    block = parse_block(data)
    if block or len(data) <= SMALL_BLOCK_BYTES:
        return [(data, block)]
    stream = io.BytesIO(data)
    small = iter(lambda: stream.read(SMALL_BLOCK_BYTES) + stream.readline(), b"")
    return [(each, parse_block(each)) for each in small]


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
        if is_read_in_bulk(piece) and not self.decisions.by_pair and piece.file not in self.rest:
            return self._in_bulk(piece)
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

    def _in_bulk(self, piece: FilePiece) -> _PieceLines:
        vocabulary, known = Vocabulary(self.relations or ()), self.relations and frozenset(self.relations)
        builder, bad, num_lines = BagBuilder(vocabulary, self.max_tokens), list[tuple[int, str]](), 0

        def on_lines(num: int) -> None:
            nonlocal num_lines
            num_lines += num

        builder.add_all(read_piece(piece, known, lambda *line: bad.append(line), on_lines))
        decisions = self.decisions.without_counts()
        return _PieceLines(piece, builder.lines(), vocabulary, decisions, bad, num_lines, builder.num_read)


def is_read_in_bulk(piece: FilePiece) -> bool:
    """Return whether `read_piece` can read a piece."""
    return piece.form == FORM and not piece.is_whole


def read_piece(
    piece: FilePiece,
    relations: Collection[str] | None,
    on_bad: Callable[[int, str], None],
    on_lines: Callable[[int], None],
) -> Iterator[Sentence | SentenceBlock]:
    """Yield the sentences of a piece, most of them in blocks; call `on_lines` with numbers of lines read."""
    blocks = chain.from_iterable(map(_parsed, _blocks_between(Path(piece.file), piece.start, piece.stop)))
    yield from _items(blocks, relations, on_bad, lambda data: on_lines(data.count(b"\n") + (not data.endswith(b"\n"))))


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
