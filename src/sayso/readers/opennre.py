"""Read and write OpenNRE's JSON lines: `text` or `token`, `h` and `t` with `id`, `name` and `pos`, one `relation`."""

import json
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any

from sayso.readers.base import BadLineError, CharSpan, check_length
from sayso.readers.json_line import has_keys, integer_pair, json_object, nested, string, strings, without_na
from sayso.readers.mention import complete, given_mentions, named
from sayso.records import Mention, Sentence, Span

_NA = "NA"


def recognises(first_line: str) -> bool:
    """Return whether the line is a JSON object with `h` and `t`."""
    return has_keys(first_line, "h", "t")


def write(sentence: Sentence) -> str:
    """Return the sentence in `token` form, one line per relation, `NA` if it has none.

    `pos` is the first mention; the reader finds the others. Document and `expresses` are left out.
    """
    record = {"token": sentence.tokens, "h": _entity(sentence.head), "t": _entity(sentence.tail)}
    relations = sentence.relations or (_NA,)
    return "\n".join(json.dumps({**record, "relation": relation}, ensure_ascii=False) for relation in relations)


def parse(text: str) -> Sentence:
    """Parse one line; a sentence with several relations has a line for each."""
    record = json_object(text)
    entities = nested(record, "h"), nested(record, "t")
    tokens, spans = _from_tokens(record, entities) if "token" in record else _from_text(record, entities)
    check_length(tokens)
    head, tail = Mention(*named(entities[0], "head"), spans[0]), Mention(*named(entities[1], "tail"), spans[1])
    head, tail = given_mentions(tokens, *complete(tokens, head, tail))
    return Sentence(tuple(tokens), head, tail, without_na([string(record, "relation", _NA)]))


_Entities = tuple[dict[str, Any], dict[str, Any]]
_Placed = tuple[list[str], list[tuple[Span, ...]]]


def _from_text(record: dict[str, Any], entities: _Entities) -> _Placed:
    """Return the tokens of `text`, and the head and tail spans if `pos` gives them."""
    text = string(record, "text")
    positions = [_position(entity) for entity in entities]
    surfaces = [
        text[slice(*at)] if at else string(entity, "name", "") for at, entity in zip(positions, entities, strict=True)
    ]
    # Cut at every occurrence, or attached punctuation would hide the later ones.
    cuts = [span for words in surfaces for span in occurrences(text, words)]
    tokens, spans = split_at(text, [position for position in positions if position], cuts)
    given = iter(spans)
    return tokens, [(next(given),) if position else () for position in positions]


def _from_tokens(record: dict[str, Any], entities: _Entities) -> _Placed:
    """Return the tokens in `token`, split at white space, and the head and tail spans if `pos` gives them."""
    tokens = strings(record, "token")
    positions = [_position(entity) for entity in entities]
    words = " ".join(tokens).split()
    if words != tokens:  # a token is empty or has a space inside: 1 1/2
        num_before = list(accumulate((len(token.split()) for token in tokens), initial=0))
        positions = [
            # Out of range, it stays as it is: `given_mentions` refuses it.
            (num_before[at[0]], num_before[at[1]]) if at and 0 <= at[0] < at[1] <= len(tokens) else at
            for at in positions
        ]
    return words, [(Span(*position),) if position else () for position in positions]


def _position(entity: dict[str, Any]) -> tuple[int, int] | None:
    return None if entity.get("pos") is None else integer_pair(entity["pos"], "'pos'")


def _entity(mention: Mention) -> dict[str, object]:
    return {"id": mention.entity_id, "name": mention.name, "pos": list(mention.spans[0])}


def occurrences(text: str, words: str) -> Iterator[CharSpan]:
    """Yield the start and stop of each occurrence of the words in the text, except inside a longer word.

    >>> list(occurrences("Ana's aunt Ana, not Anabel", "Ana"))
    [(0, 3), (11, 14)]
    """
    start = text.find(words) if words else -1
    while start >= 0:
        stop = start + len(words)
        if not _is_inside_word(text, start) and not _is_inside_word(text, stop):
            yield start, stop
        start = text.find(words, stop)


def _is_inside_word(text: str, edge: int) -> bool:
    return 0 < edge < len(text) and text[edge - 1].isalnum() and text[edge].isalnum()


def split_at(text: str, mentions: Iterable[CharSpan], also_at: Iterable[CharSpan] = ()) -> tuple[list[str], list[Span]]:
    """Split the text into tokens; return them, and each mention (character offsets) as a span of tokens.

    Tokens end at white space and at the edges of mentions and of `also_at`, so a mention is always whole tokens.

    >>> split_at("the dog's bone", [(4, 7)])
    (['the', 'dog', "'s", 'bone'], [Span(start=1, stop=2)])
    """
    wanted = list(mentions)
    for start, stop in wanted:
        if not 0 <= start < stop <= len(text):
            raise BadLineError(f"mention [{start}, {stop}] lies outside the {len(text)} characters of the sentence")
    tokens: list[str] = []
    num_before = {0: 0}
    last = 0
    for edge in sorted({edge for span in (*wanted, *also_at) for edge in span} | {len(text)}):
        tokens += text[last:edge].split()
        num_before[edge] = len(tokens)
        last = edge
    spans = [Span(num_before[start], num_before[stop]) for start, stop in wanted]
    for (start, stop), span in zip(wanted, spans, strict=True):
        if span.start == span.stop:
            raise BadLineError(f"mention [{start}, {stop}] contains only white space")
    return tokens, spans
