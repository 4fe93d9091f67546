"""Our own JSON lines: everything a `Sentence` holds, one a line, spans of every occurrence included."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from sayso.readers.base import BadLineError, Item, Line, checked_tokens, read_each
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
from sayso.readers.json_mention import complete, named
from sayso.readers.mention import overlap
from sayso.records import Mention, Sentence, Source, Span


def read(lines: Iterable[Line]) -> Iterator[Item]:
    """Yield the sentence of each line."""
    return read_each(lines, parse)


def recognises(first_line: str) -> bool:
    """Say whether the line is an object with head, tail, and tokens or a text, and no crowd's answers."""
    return has_keys(first_line, "head", "tail", "tokens") or (
        has_keys(first_line, "head", "tail", "text") and not has_keys(first_line, "distant_relation")
    )


def write(sentence: Sentence) -> str:
    """Return the sentence's line; reading it gives the same sentence."""
    record: dict[str, object] = {
        "tokens": sentence.tokens,
        "head": _entity(sentence.head),
        "tail": _entity(sentence.tail),
        "relations": sentence.relations,
    }
    if sentence.source is not None:
        record["document"] = document_record(sentence.source)
    if sentence.expresses is not None:
        record["expresses"] = sentence.expresses
    return json.dumps(record, ensure_ascii=False)


def document_record(source: Source) -> dict[str, object]:
    """Return what a line says under `document`."""
    document_id, start, stop, glued, curly = source
    spelling = {name: numbers for name, numbers in (("glued", glued), ("curly", curly)) if numbers}
    return {"id": document_id, "start": start, "stop": stop, **spelling}


def parse(text: str) -> Sentence:
    """Return the sentence of one line."""
    record = json_object(text)
    tokens = check_tokens(record["tokens"]) if "tokens" in record else checked_tokens(string(record, "text"))
    head, tail = _mention(record, "head", tokens), _mention(record, "tail", tokens)
    if not head.spans or not tail.spans:
        head, tail = complete(tokens, head, tail)
    elif overlap(head.spans, tail.spans):
        raise BadLineError("head and tail mention overlap")
    relations = without_na(strings(record, "relations")) if "relations" in record else ()
    source = _source(nested(record, "document"), len(tokens)) if "document" in record else None
    expresses = share(record, "expresses") if "expresses" in record else None
    return Sentence(tuple(tokens), head, tail, relations, source, expresses)


def _mention(record: dict[str, Any], role: str, tokens: list[str]) -> Mention:
    """Return the mention with the spans the line gives, none where it gives none."""
    entity = nested(record, role)
    given = entity.get("spans") or []
    if not isinstance(given, list):
        raise BadLineError(f"{role} 'spans' is not a list of [start, stop]")
    spans, last = [], 0
    for value in given:
        start, stop = integer_pair(value, f"a span of the {role} mention")
        if not 0 <= start < stop <= len(tokens):
            raise BadLineError(
                f"{role} mention [{start}, {stop}] lies outside the {len(tokens)} tokens of the sentence"
            )
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
    """Return the numbers of tokens that stand under the key, all of them tokens with one before them."""
    given = document[key]
    if given is None:
        return ()
    if not isinstance(given, list) or not _are_rising(given):
        raise BadLineError(f"'document' {key!r} is not a list of rising whole numbers from 1 on")
    if given and given[-1] >= num_tokens:
        raise BadLineError(f"'document' {key!r} goes beyond the {num_tokens} tokens of the sentence")
    return tuple(given)


def _are_rising(numbers: list[Any]) -> bool:
    last = 0
    for number in numbers:
        if type(number) is not int or number <= last:
            return False
        last = number
    return True


def _entity(mention: Mention) -> dict[str, object]:
    return {"id": mention.entity_id, "name": mention.name, "spans": mention.spans}
