"""Find every mention of a sentence's head and tail, without overlaps; make ids for entities that have only a name."""

from collections.abc import Sequence
from typing import Any

from sayso.readers.base import BadLineError
from sayso.readers.json_line import string
from sayso.records import Mention, Span
from sayso.tokens import apart_from, is_free_of, keep_apart, locate


def id_from_name(name: str) -> str:
    """Return an id, independent of case, for an entity that has only a name.

    >>> id_from_name("Leland  High School")
    'name:leland_high_school'
    """
    return "name:" + ("_".join(name.lower().replace("_", " ").split()) or "_")


def find_mentions(tokens: Sequence[str], head: tuple[str, str], tail: tuple[str, str]) -> tuple[Mention, Mention]:
    """Find the mentions of both entities, each given as (entity id, name), by name in the sentence."""
    (head_id, head_name), (tail_id, tail_name) = head, tail
    head_spans = locate(tokens, head_name)
    if not head_spans:
        raise BadLineError(f"head mention {head_name!r} is not in the sentence")
    tail_spans = locate(tokens, tail_name)
    if not tail_spans:
        raise BadLineError(f"tail mention {tail_name!r} is not in the sentence")
    if len(head_spans) > 1 or len(tail_spans) > 1 or head_spans[0].overlaps(tail_spans[0]):
        try:
            head_spans, tail_spans = keep_apart(head_spans, tail_spans)
        except ValueError as error:
            raise BadLineError(str(error)) from None
    return Mention(head_id, head_name, head_spans), Mention(tail_id, tail_name, tail_spans)


def given_mentions(tokens: Sequence[str], head: Mention, tail: Mention) -> tuple[Mention, Mention]:
    """Check the spans given in the corpus, and add other occurrences of the same words."""
    for role, mention in (("head", head), ("tail", tail)):
        for start, stop in mention.spans:
            refuse_outside(tokens, role, start, stop)
    if overlap(head.spans, tail.spans):
        taken = next(span for span in head.spans if not apart_from((span,), tail.spans))
        raise BadLineError(f"head mention {list(taken)} overlaps the tail mention")
    head = head._replace(spans=_with_repeats(tokens, head.spans, tail.spans))
    return head, tail._replace(spans=_with_repeats(tokens, tail.spans, head.spans))


def refuse_outside(tokens: Sequence[str], role: str, start: int, stop: int) -> None:
    """Raise `BadLineError` if a mention is empty or not within the tokens."""
    if not 0 <= start < stop <= len(tokens):
        raise BadLineError(f"{role} mention [{start}, {stop}] lies outside the {len(tokens)} tokens of the sentence")


def overlap(spans: tuple[Span, ...], others: tuple[Span, ...]) -> bool:
    """Return whether a span shares a token with one of the others."""
    if len(spans) == len(others) == 1:  # the usual case
        return spans[0].overlaps(others[0])
    return len(apart_from(spans, others)) < len(spans)


def _with_repeats(tokens: Sequence[str], spans: tuple[Span, ...], taken: tuple[Span, ...]) -> tuple[Span, ...]:
    """Return the spans and every other occurrence of the same tokens that overlaps no span, in order."""
    named = {tuple(tokens[start:stop]) for start, stop in spans}
    first_words, widths = {words[0] for words in named}, sorted({len(words) for words in named}, reverse=True)
    is_free, found, last = is_free_of((*spans, *taken)), list(spans), 0
    for start in (index for index, token in enumerate(tokens) if token in first_words):
        for width in widths:
            span = Span(start, start + width)
            if start >= last and tuple(tokens[start : span.stop]) in named and is_free(span):
                found.append(span)
                last = span.stop
    return tuple(sorted(found))


def named(entity: dict[str, Any], role: str, words: str = "") -> tuple[str, str]:
    """Return the id and name of a JSON entity; a missing id defaults to the name, a missing name to `words`."""
    entity_id, name = entity.get("id"), entity.get("name")
    if type(entity_id) is str and type(name) is str and name and entity_id and not entity_id.isspace():
        return entity_id, name  # the usual case
    name = string(entity, "name", "") or words
    entity_id = string(entity, "id", "") or name
    if not entity_id.strip():
        raise BadLineError(f"the {role} has neither an id nor a name")
    return entity_id, name


def complete(tokens: Sequence[str], head: Mention, tail: Mention) -> tuple[Mention, Mention]:
    """Return both mentions; spans missing from the line are found by name, outside the other mention."""
    if not head.spans and not tail.spans:
        return find_mentions(tokens, head[:2], tail[:2])
    return _found(tokens, head, tail.spans, "head"), _found(tokens, tail, head.spans, "tail")


def _found(tokens: Sequence[str], mention: Mention, taken: tuple[Span, ...], role: str) -> Mention:
    if mention.spans:
        return mention
    everywhere = locate(tokens, mention.name)
    spans = apart_from(everywhere, taken)
    if not spans:
        where = "only inside the other mention" if everywhere else "not in the sentence"
        raise BadLineError(f"{role} mention {mention.name!r} is {where}")
    return mention._replace(spans=spans)
