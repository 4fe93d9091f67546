"""Mentions as JSON gives them: an id, a name, and perhaps where they stand."""

from collections.abc import Sequence
from typing import Any

from sayso.readers.base import BadLineError
from sayso.readers.json_line import string
from sayso.readers.mention import find_mentions
from sayso.records import Mention, Span
from sayso.tokens import apart_from, locate


def named(entity: dict[str, Any], role: str, words: str = "") -> tuple[str, str]:
    """Return id and name of the entity; the name stands in for a missing id, `words` for a missing name."""
    entity_id, name = entity.get("id"), entity.get("name")
    if type(entity_id) is str and type(name) is str and name and entity_id and not entity_id.isspace():
        return entity_id, name  # as nearly every line has them
    name = string(entity, "name", "") or words
    entity_id = string(entity, "id", "") or name
    if not entity_id.strip():
        raise BadLineError(f"the {role} has neither an id nor a name")
    return entity_id, name


def complete(tokens: Sequence[str], head: Mention, tail: Mention) -> tuple[Mention, Mention]:
    """Return the two mentions, those without spans found by name in what the other leaves."""
    if not head.spans and not tail.spans:
        return find_mentions(tokens, head[:2], tail[:2])
    if not head.spans:
        return _found(tokens, head, tail.spans, "head"), tail
    if not tail.spans:
        return head, _found(tokens, tail, head.spans, "tail")
    return head, tail


def _found(tokens: Sequence[str], mention: Mention, taken: tuple[Span, ...], role: str) -> Mention:
    everywhere = locate(tokens, mention.name)
    spans = apart_from(everywhere, taken)
    if not spans:
        where = "only inside the other mention" if everywhere else "not in the sentence"
        raise BadLineError(f"{role} mention {mention.name!r} is {where}")
    return mention._replace(spans=spans)
