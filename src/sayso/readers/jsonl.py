"""Read and write a `Sentence` as JSON: corpus lines, and compact lines for sorting.

A corpus line has every field of a `Sentence`, with the spans of every mention; users may write these lines, so all of
it is checked. A compact line begins with the pair, so sorting groups the sentences of a pair; it is internal, protected
by a checksum, and takes half as long to read as a corpus line.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sayso.readers.base import BadLineError, CharSpan, check_length
from sayso.readers.json_line import (
    check_tokens,
    has_keys,
    integer_pair,
    json_object,
    nested,
    share,
    string,
    strings,
    without_na,
)
from sayso.readers.mention import complete, named, overlap, refuse_outside
from sayso.records import Mention, Sentence, Source, Span

_string = json.encoder.encode_basestring
_json = json.JSONEncoder(ensure_ascii=False).encode
_compact_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def recognises(first_line: str) -> bool:
    """Return whether the line is a JSON object with head, tail, and tokens or text, but no crowd answers."""
    return has_keys(first_line, "head", "tail", "tokens") or (
        has_keys(first_line, "head", "tail", "text") and not has_keys(first_line, "distant_relation")
    )


def write(sentence: Sentence) -> str:
    """Return the sentence's corpus line; `parse` reads it back unchanged."""
    record: dict[str, object] = {
        "tokens": sentence.tokens,
        "head": _entity(sentence.head),
        "tail": _entity(sentence.tail),
        "relations": sentence.relations,
    }
    if sentence.source is not None:
        record["document"] = _document(sentence.source)
    if sentence.expresses is not None:
        record["expresses"] = sentence.expresses
    return _json(record)


def write_pairs(
    tokens: tuple[str, ...],
    source: Source,
    entities: Mapping[str, tuple[Mention, Iterable[CharSpan]]],
    pairs: Iterable[tuple[str, str, tuple[str, ...]]],
) -> list[str]:
    """Return a corpus line for each pair (head id, tail id, relations) of one sentence.

    Mentions come with their character spans in the document, written as `places`. Tokens, mentions and source, which
    the lines share, are encoded only once.
    """
    written, document = _strings(tokens), _json(_document(source))
    encoded = {
        key: f'{{"id": {_string(key)}, "name": {_string(mention.name)}, "spans": {_pairs(mention.spans)},'
        f' "places": {_pairs(places)}}}'
        for key, (mention, places) in entities.items()
    }
    return [
        f'{{"tokens": {written}, "head": {encoded[head_id]}, "tail": {encoded[tail_id]},'
        f' "relations": {_strings(relations)}, "document": {document}}}'
        for head_id, tail_id, relations in pairs
    ]


def _strings(texts: Iterable[str]) -> str:
    """Return a JSON list of strings, in half of the time that an encoder takes."""
    return f"[{', '.join(map(_string, texts))}]"


def _pairs(pairs: Iterable[tuple[int, int]]) -> str:
    """Return a JSON list of pairs of numbers."""
    return f"[{', '.join([f'[{first}, {second}]' for first, second in pairs])}]"


def _entity(mention: Mention) -> dict[str, object]:
    return {"id": mention.entity_id, "name": mention.name, "spans": mention.spans}


def _document(source: Source) -> dict[str, object]:
    document_id, start, stop, glued, curly = source
    spelling = {name: numbers for name, numbers in (("glued", glued), ("curly", curly)) if numbers}
    return {"id": document_id, "start": start, "stop": stop, **spelling}


def parse(text: str) -> Sentence:
    """Parse one corpus line."""
    record = json_object(text)
    tokens = check_tokens(record["tokens"]) if "tokens" in record else check_length(string(record, "text").split())
    head, tail = _mention(record, "head", tokens), _mention(record, "tail", tokens)
    if not head.spans or not tail.spans:
        head, tail = complete(tokens, head, tail)
    elif overlap(head.spans, tail.spans):
        raise BadLineError("the head and tail mentions overlap")
    relations = without_na(strings(record, "relations")) if "relations" in record else ()
    source = _source(nested(record, "document"), len(tokens)) if "document" in record else None
    expresses = share(record, "expresses") if "expresses" in record else None
    return Sentence(tuple(tokens), head, tail, relations, source, expresses)


def _mention(record: dict[str, Any], role: str, tokens: list[str]) -> Mention:
    """Return the mention with the spans given on the line, if any."""
    entity = nested(record, role)
    given = entity.get("spans") or []
    if not isinstance(given, list):
        raise BadLineError(f"{role} 'spans' is not a list of [start, stop] pairs")
    spans, last = [], 0
    for value in given:
        start, stop = integer_pair(value, f"a span of the {role} mention")
        refuse_outside(tokens, role, start, stop)
        if start < last:
            raise BadLineError(f"{role} mention [{start}, {stop}] overlaps the one before it or is out of order")
        spans.append(Span(start, stop))
        last = stop
    words = " ".join(tokens[spans[0].start : spans[0].stop]) if spans and "name" not in entity else ""
    return Mention(*named(entity, role, words), tuple(spans))


def _source(document: dict[str, Any], num_tokens: int) -> Source:
    start, stop = integer_pair([document.get("start"), document.get("stop")], "'document' start and stop")
    if not 0 <= start <= stop < 2**63:
        raise BadLineError(f"document positions [{start}, {stop}] are not in order")
    glued = _numbers(document, "glued", num_tokens) if "glued" in document else ()
    curly = _numbers(document, "curly", num_tokens) if "curly" in document else ()
    return Source(string(document, "id"), start, stop, glued, curly)


def _numbers(document: dict[str, Any], key: str, num_tokens: int) -> tuple[int, ...]:
    """Return the token indices under the key, which must be increasing and start at 1 or later."""
    given = document[key]
    if given is None:
        return ()
    if not isinstance(given, list) or given != sorted({n for n in given if type(n) is int and n > 0}):
        raise BadLineError(f"'document' {key!r} must be an increasing list of integers ≥ 1")
    if given and given[-1] >= num_tokens:
        raise BadLineError(f"'document' {key!r} points beyond the {num_tokens} tokens of the sentence")
    return tuple(given)


def write_compact(sentence: Sentence) -> str:
    """Return the sentence's compact line: pair, document position, text and mentions, without labels.

    The position comes before the text, so the order of sorted lines does not depend on the file they came from.
    """
    head, tail, source = sentence.head, sentence.tail, sentence.source
    names = (head.name, _flat(head), tail.name, _flat(tail))
    place = source if source and (source.glued or source.curly) else source and source[:3]
    return _compact_json((head.entity_id, tail.entity_id, place, " ".join(sentence.tokens), *names))


def parse_compact(line: str) -> Sentence:
    """Parse a compact line; raise `BadLineError` if the line is damaged."""
    try:
        return _sentence(*json.loads(line))
    except (ValueError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise BadLineError("not a compact sentence line") from error


def _sentence(
    head_id: str,
    tail_id: str,
    place: list[Any] | None,
    text: str,
    head_name: str,
    head_spans: list[int],
    tail_name: str,
    tail_spans: list[int],
) -> Sentence:
    return Sentence(
        tuple(text.split(" ")),
        Mention(head_id, head_name, _spans(head_spans)),
        Mention(tail_id, tail_name, _spans(tail_spans)),
        source=Source(*place[:3], *map(tuple, place[3:])) if place else None,
    )


class CompactLines:
    """Compact lines as columns; item i is the sentence on line i."""

    def __init__(self, rows: list[list[Any]]) -> None:
        self._rows = rows
        columns = zip(*rows, strict=True)
        self.head_id, self.tail_id, _, self.text, self.head_name, self.head_spans, *rest = columns
        self.tail_name, self.tail_spans = rest

    def __len__(self) -> int:
        """Return the number of lines."""
        return len(self._rows)

    def __getitem__(self, number: int) -> Sentence:
        """Return the sentence on a line."""
        return _sentence(*self._rows[number])


def parse_compact_lines(lines: Sequence[str]) -> CompactLines | None:
    """Parse compact lines together, four times as fast as one by one; return None if one is damaged."""
    try:
        return CompactLines(json.loads(f"[{','.join(lines)}]"))
    except (ValueError, TypeError, RecursionError):
        return None


def _flat(mention: Mention) -> list[int]:
    return [edge for span in mention.spans for edge in span]


def _spans(flat: list[int]) -> tuple[Span, ...]:
    if len(flat) == 2:
        return (Span(*flat),)  # the usual case
    return tuple(Span(flat[i], flat[i + 1]) for i in range(0, len(flat), 2))
