"""OpenNRE's JSON lines: `text` or `token`, `h` and `t` with `id`, `name` and `pos`, and one `relation` a line."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from sayso.readers.base import Item, Line, check_length, read_each
from sayso.readers.character import occurrences, split_at
from sayso.readers.json_line import has_keys, integer_pair, json_object, nested, string, strings, without_na
from sayso.readers.json_mention import complete, named
from sayso.readers.mention import given_mentions
from sayso.records import Mention, Sentence, Span

_NA = "NA"


def read(lines: Iterable[Line]) -> Iterator[Item]:
    """Yield the sentence of each line; the lines of a sentence with several relations are several sentences."""
    return read_each(lines, parse)


def recognises(first_line: str) -> bool:
    """Say whether the line is an object with `h` and `t`."""
    return has_keys(first_line, "h", "t")


def write(sentence: Sentence) -> str:
    """Return the sentence in `token` form, one line for each of its relations, `NA` if it has none.

    `pos` holds the first occurrence; the others are found again when read. Document and `expresses` have no place in
    this form and are left out.
    """
    record = {
        "token": sentence.tokens,
        "h": _entity(sentence.head),
        "t": _entity(sentence.tail),
    }
    relations = sentence.relations or (_NA,)
    return "\n".join(json.dumps({**record, "relation": relation}, ensure_ascii=False) for relation in relations)


def parse(text: str) -> Sentence:
    """Return the sentence of one line."""
    record = json_object(text)
    entities = nested(record, "h"), nested(record, "t")
    tokens, spans = _from_tokens(record, entities) if "token" in record else _from_text(record, entities)
    check_length(tokens)
    (head_id, head_name), (tail_id, tail_name) = named(entities[0], "head"), named(entities[1], "tail")
    head, tail = Mention(head_id, head_name, spans[0]), Mention(tail_id, tail_name, spans[1])
    head, tail = given_mentions(tokens, *complete(tokens, head, tail))
    return Sentence(tuple(tokens), head, tail, without_na([string(record, "relation", _NA)]))


Entities = tuple[dict[str, Any], dict[str, Any]]
Placed = tuple[list[str], list[tuple[Span, ...]]]


def _from_text(record: dict[str, Any], entities: Entities) -> Placed:
    """Return the tokens and, for head and tail, their span, none where `pos` is missing."""
    text = string(record, "text")
    positions = [_position(entity) for entity in entities]
    surfaces = [
        text[slice(*at)] if at else string(entity, "name", "") for at, entity in zip(positions, entities, strict=True)
    ]
    # Cut at every occurrence, so that punctuation stuck to a later one does not hide it.
    cuts = [stretch for words in surfaces for stretch in occurrences(text, words)]
    tokens, spans = split_at(text, [position for position in positions if position], cuts)
    given = iter(spans)
    return tokens, [(next(given),) if position else () for position in positions]


def _from_tokens(record: dict[str, Any], entities: Entities) -> Placed:
    """Return the same where the line brings its own tokens."""
    tokens = strings(record, "token")
    positions = [_position(entity) for entity in entities]
    words = " ".join(tokens).split()
    if words != tokens:  # tokens that are empty or have a space inside: 1 1/2
        num_before = [0]
        for token in tokens:
            num_before.append(num_before[-1] + len(token.split()))
        positions = [position and _moved(position, num_before) for position in positions]
    return words, [(Span(*position),) if position else () for position in positions]


def _moved(position: tuple[int, int], num_before: list[int]) -> tuple[int, int]:
    start, stop = position
    if not 0 <= start < stop < len(num_before):
        return position  # out of range before as after: refused where all spans are checked
    return num_before[start], num_before[stop]


def _position(entity: dict[str, Any]) -> tuple[int, int] | None:
    return None if entity.get("pos") is None else integer_pair(entity["pos"], "'pos'")


def _entity(mention: Mention) -> dict[str, object]:
    return {"id": mention.entity_id, "name": mention.name, "pos": list(mention.spans[0])}
