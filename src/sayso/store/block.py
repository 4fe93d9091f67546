"""Parse JSON lines in bulk: thousands of lines become columns at once, without a Python object per line.

Blocks of lines are parsed by pyarrow, which releases the GIL, and checked as `readers/jsonl.py` checks each line. A
block with anything unusual, such as a bad line or a name to be found in the text, is left to that reader: the result is
the same.
Shapes: N sentences of a block, T their tokens, P occurrences of mentions.
"""

import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.json as pa_json

from sayso.readers import READERS
from sayso.readers.base import MAX_TOKENS, Line
from sayso.readers.files import lines_of
from sayso.records import NA_NAMES, Sentence
from sayso.store.columns import are_valid, numbers_in, take_texts, text_array
from sayso.store.rows import Rows
from sayso.tokens import control_character

FORM = "jsonl"
"""The format that is read in bulk."""
_UNUSUAL = re.compile(rb":\s*null|\\u[dD][89a-fA-F]")
"""A null, which a reader tells from a missing value, or half of a character."""

_quoted = json.encoder.encode_basestring
_TEXT, _NUMBER = pa.string(), pa.int64()
_ENTITY = pa.struct({"id": _TEXT, "name": _TEXT, "spans": pa.list_(pa.list_(_NUMBER))})
_NUMBERS = pa.list_(_NUMBER)
_DOCUMENT = pa.struct({"id": _TEXT, "start": _NUMBER, "stop": _NUMBER, "glued": _NUMBERS, "curly": _NUMBERS})
_SCHEMA = pa.schema(
    {
        "tokens": pa.list_(_TEXT),
        "head": _ENTITY,
        "tail": _ENTITY,
        "relations": pa.list_(_TEXT),
        "document": _DOCUMENT,
        "expresses": pa.float64(),
    }
)


class _UnusualError(Exception):
    """A block that has to be read line by line."""


class Coded(NamedTuple):
    """Texts as indices into their distinct values, which are in order of first appearance."""

    code: np.ndarray
    values: list[str]


@dataclass(frozen=True, kw_only=True)
class SentenceBlock:
    """N sentences as columns, and the lines that they were parsed from.

    `entity` has the ids of head and tail of each sentence in turn, and `names` their names. The source of a sentence
    is `document`, an index or -1, `place_N2`, `glued` and `curly`.
    """

    lines: bytes
    tokens: Coded
    start_N1: np.ndarray
    entity: Coded
    names: pa.StringArray
    head_spans: Rows
    tail_spans: Rows
    relations: Coded
    num_relations_N: np.ndarray
    document: Coded
    place_N2: np.ndarray
    glued: Rows
    curly: Rows
    expresses_N: np.ndarray

    def __len__(self) -> int:
        """Return N."""
        return len(self.start_N1) - 1

    def compact_lines(self) -> Iterator[tuple[str, str, str]]:
        """Yield head id, tail id and line of each sentence, as `readers.jsonl.write_compact` writes it."""
        # Every distinct text is encoded once.
        words = [_quoted(word)[1:-1] for word in self.tokens.values]
        ids, names = self.entity.values, list(map(_quoted, self.names.to_pylist()))
        entities, documents = list(map(_quoted, ids)), list(map(_quoted, self.document.values))
        pairs, codes = self.entity.code.reshape(-1, 2).tolist(), self.tokens.code.tolist()
        starts, places = self.start_N1.tolist(), self.place_N2.tolist()
        spans = zip(_texts_of(self.head_spans), _texts_of(self.tail_spans), strict=True)
        spelling = zip(_texts_of(self.glued), _texts_of(self.curly), strict=True)
        rows = zip(pairs, self.document.code.tolist(), places, spans, spelling, strict=True)
        for number, ((head, tail), document, place, (head_spans, tail_spans), (glued, curly)) in enumerate(rows):
            text = " ".join([words[code] for code in codes[starts[number] : starts[number + 1]]])
            spelled = f",[{glued}],[{curly}]" if glued or curly else ""
            source = "null" if document < 0 else f"[{documents[document]},{place[0]},{place[1]}{spelled}]"
            head_name, tail_name = names[2 * number : 2 * number + 2]
            about = f"{head_name},[{head_spans}],{tail_name},[{tail_spans}]"
            yield ids[head], ids[tail], f'[{entities[head]},{entities[tail]},{source},"{text}",{about}]'

    def sentences(self) -> Iterator[Sentence]:
        """Yield the sentences as records."""
        for _, sentence in READERS[FORM].read(lines_of_block(self.lines)):
            assert isinstance(sentence, Sentence)
            yield sentence


def _texts_of(rows: Rows) -> list[str]:
    """Return the numbers of each row, separated by commas."""
    values, start = list(map(str, rows.value.tolist())), rows.start.tolist()
    return [",".join(values[first:last]) for first, last in pairwise(start)]


def lines_of_block(data: bytes) -> Iterator[Line]:
    """Yield the lines of a block, numbered from 1."""
    stream = io.BytesIO(data)
    return lines_of(Path(), stream, stream)


def parse_block(lines: bytes) -> SentenceBlock | None:
    """Return whole lines as columns, or None if they have to be read line by line."""
    try:
        return _parsed(lines)
    except (_UnusualError, pa.ArrowException, UnicodeDecodeError):
        return None


def _parsed(lines: bytes) -> SentenceBlock:
    num = lines.count(b"\n") + (not lines.endswith(b"\n"))
    # Every line is an object: blank lines, line breaks inside an object and byte order marks are unusual.
    _require(lines[:1] == b"{" and lines.count(b"}\n{") == num - 1 and not _is_unusual(lines))
    lines.decode()  # pyarrow does not check it
    table = pa_json.read_json(
        pa.BufferReader(lines),
        pa_json.ReadOptions(use_threads=False, block_size=len(lines) + 1),
        pa_json.ParseOptions(explicit_schema=_SCHEMA, unexpected_field_behavior="ignore"),
    )
    _require(len(table) == num)
    columns = {name: table.column(name).combine_chunks() for name in _SCHEMA.names}
    tokens, start_N1 = _texts(columns["tokens"])
    length_N = np.diff(start_N1)
    _require(length_N.min() >= 1 and length_N.max() <= MAX_TOKENS)
    _require(" ".join(tokens.values).split() == tokens.values)
    head, tail = (columns[role].flatten() for role in ("head", "tail"))
    names = _in_turn(head[1], tail[1])
    _require(not control_character(*names.unique().to_pylist()))
    head_spans, tail_spans = _spans(head[2], length_N), _spans(tail[2], length_N)
    _refuse_overlap(head_spans, tail_spans)
    relations, num_relations_N = _relations(columns["relations"])
    document, place_N2, glued, curly = _documents(columns["document"], length_N)
    return SentenceBlock(
        lines=lines,
        tokens=tokens,
        start_N1=start_N1,
        entity=_coded(_in_turn(head[0], tail[0]), is_name=True),
        names=names,
        head_spans=head_spans,
        tail_spans=tail_spans,
        relations=relations,
        num_relations_N=num_relations_N,
        document=document,
        place_N2=place_N2,
        glued=glued,
        curly=curly,
        expresses_N=_shares(columns["expresses"]),
    )


def _is_unusual(lines: bytes) -> bool:
    # The expression is ten times as slow as a search for plain bytes.
    return (b"null" in lines or b"\\u" in lines) and bool(_UNUSUAL.search(lines))


def _require(is_usual: bool | np.bool_) -> None:
    if not is_usual:
        raise _UnusualError


def _coded(texts: pa.StringArray, is_name: bool = False) -> Coded:
    """Return texts as codes; a name must not be blank or contain a control character."""
    _require(texts.null_count == 0)
    encoded = texts.dictionary_encode()
    values: list[str] = encoded.dictionary.to_pylist()
    if is_name:
        _require(all(values) and not control_character(*values) and not any(map(str.isspace, values)))
    return Coded(numbers_in(encoded.indices), values)


def coded(texts: Sequence[str]) -> Coded:
    """Return texts as codes."""
    return _coded(text_array(texts))


def _texts(column: pa.ListArray) -> tuple[Coded, np.ndarray]:
    _require(column.null_count == 0)
    return _coded(column.flatten()), _starts(column)


def _starts(column: pa.ListArray) -> np.ndarray:
    offsets = numbers_in(column.offsets).astype(np.int64)
    start_N1: np.ndarray = offsets - offsets[0]
    return start_N1


def _in_turn(head: pa.StringArray, tail: pa.StringArray) -> pa.StringArray:
    """Return head and tail of each sentence in turn."""
    _require(not head.null_count and not tail.null_count)
    order = np.arange(2 * len(head)).reshape(2, -1).T.ravel()
    return take_texts(pa.concat_arrays([head, tail]), order)


def _spans(column: pa.ListArray, length_N: np.ndarray) -> Rows:
    """Return the start and stop of every occurrence in turn, after checking them."""
    _require(column.null_count == 0)
    pairs, start_N1 = column.flatten(), _starts(column)
    num_N = np.diff(start_N1)
    _require(num_N.min() >= 1 and pairs.null_count == 0)
    values = pairs.flatten()
    _require(values.null_count == 0 and (np.diff(_starts(pairs)) == 2).all())
    span_P2 = numbers_in(values, "<i8").reshape(-1, 2)
    sentence_P = np.repeat(np.arange(len(num_N)), num_N)
    _require((span_P2[:, 0] >= 0).all() and (span_P2[:, 0] < span_P2[:, 1]).all())
    _require((span_P2[:, 1] <= length_N[sentence_P]).all())
    _refuse_disorder(span_P2, sentence_P)
    return Rows(span_P2.astype(np.int32).ravel(), 2 * start_N1)


def _refuse_disorder(span_P2: np.ndarray, sentence_P: np.ndarray) -> None:
    """Raise if an occurrence begins before the previous one of its sentence ends."""
    is_next = sentence_P[1:] == sentence_P[:-1]
    _require(not (is_next & (span_P2[1:, 0] < span_P2[:-1, 1])).any())


def _refuse_overlap(head: Rows, tail: Rows) -> None:
    span_P2 = np.concatenate([head.value, tail.value]).reshape(-1, 2)
    sentence_P = np.concatenate([np.repeat(np.arange(len(rows)), rows.length // 2) for rows in (head, tail)])
    order = np.lexsort((span_P2[:, 0], sentence_P))
    _refuse_disorder(span_P2[order], sentence_P[order])


def _relations(column: pa.ListArray) -> tuple[Coded, np.ndarray]:
    """Return the relations without NA, and their number per sentence."""
    found, start_N1 = _coded(column.flatten(), is_name=True), _starts(column)
    is_kept = np.array([name not in NA_NAMES for name in found.values], bool)[found.code]
    kept = [name for name in found.values if name not in NA_NAMES]
    new = np.cumsum([name not in NA_NAMES for name in found.values]) - 1
    num_N = np.diff(np.concatenate([[0], np.cumsum(is_kept)])[start_N1])
    return Coded(new[found.code[is_kept]].astype(np.int32), kept), num_N


def _documents(column: pa.StructArray, length_N: np.ndarray) -> tuple[Coded, np.ndarray, Rows, Rows]:
    """Return the document of each sentence (-1: none), its place there, and its glued and curly tokens."""
    has_N = are_valid(column)
    document_N, place_N2 = np.full(len(has_N), -1, np.int32), np.zeros((len(has_N), 2), np.int64)
    if not has_N.any():
        return Coded(document_N, []), place_N2, Rows.empty(len(has_N)), Rows.empty(len(has_N))
    known = column.filter(column.is_valid()).flatten()
    ids = _coded(known[0], is_name=True)
    _require(not known[1].null_count and not known[2].null_count)
    document_N[has_N] = ids.code
    place_N2[has_N] = np.stack([numbers_in(known[1], "<i8"), numbers_in(known[2], "<i8")], 1)
    _require((place_N2[:, 0] >= 0).all() and (place_N2[:, 0] <= place_N2[:, 1]).all())
    glued, curly = (_token_numbers(known[number], has_N, length_N) for number in (3, 4))
    return Coded(document_N, ids.values), place_N2, glued, curly


def _token_numbers(column: pa.ListArray, has_N: np.ndarray, length_N: np.ndarray) -> Rows:
    """Return increasing indices of tokens, from 1."""
    values, start = column.flatten(), _starts(column)
    _require(values.null_count == 0)
    num_N = np.zeros(len(has_N), np.int64)
    num_N[has_N] = np.diff(start)
    number, sentence = numbers_in(values, "<i8"), np.repeat(np.arange(len(has_N)), num_N)
    _require((number >= 1).all() and (number < length_N[sentence]).all())
    _require(not ((np.diff(sentence) == 0) & (np.diff(number) <= 0)).any())
    return Rows.of_lengths(number.astype(np.int32), num_N)


def _shares(column: pa.DoubleArray) -> np.ndarray:
    has_N = are_valid(column)
    share_N = np.full(len(has_N), np.nan)
    share_N[has_N] = numbers_in(column.drop_null(), "<f8")
    _require(((share_N[has_N] >= 0) & (share_N[has_N] <= 1)).all())
    return share_N
