"""Where a sentence names an entity: every occurrence, head and tail kept apart."""

from collections.abc import Sequence

from sayso.corpus.base import BadLineError
from sayso.records import Mention, Span


def locate(tokens: Sequence[str], name: str) -> tuple[Span, ...]:
    """Return every stretch of tokens that is the name, whether its words are joined by `_` or not.

    >>> locate(["from", "el_paso", "to", "san_francisco", "bay"], "san_francisco_bay")
    (Span(start=3, stop=5),)
    """
    num_times = tokens.count(name)
    if num_times == 1:
        start = tokens.index(name)
        return (Span(start, start + 1),)
    if num_times:
        return tuple(Span(i, i + 1) for i, token in enumerate(tokens) if token == name)
    return _locate_words(tokens, name)


def _locate_words(tokens: Sequence[str], name: str) -> tuple[Span, ...]:
    """Return the stretches that spell the name once `_` and the space between tokens count as the same."""
    wanted = " ".join(name.replace("_", " ").split())
    text = " ".join(tokens).replace("_", " ")
    if not wanted or wanted not in text:
        return ()
    starts, stops, position = {}, {}, 0
    for index, token in enumerate(tokens):
        starts[position] = index
        stops[position + len(token)] = index + 1
        position += len(token) + 1
    spans, position = [], text.find(wanted)
    while position >= 0:
        end = position + len(wanted)
        is_whole = position in starts and end in stops
        if is_whole:
            spans.append(Span(starts[position], stops[end]))
        position = text.find(wanted, end if is_whole else position + 1)
    return tuple(spans)


def find_mentions(tokens: Sequence[str], head: tuple[str, str], tail: tuple[str, str]) -> tuple[Mention, Mention]:
    """Return both mentions, each given as (entity id, name), found by name in the sentence."""
    (head_id, head_name), (tail_id, tail_name) = head, tail
    head_spans = locate(tokens, head_name)
    if not head_spans:
        raise BadLineError(f"head mention {head_name!r} is not in the sentence")
    tail_spans = locate(tokens, tail_name)
    if not tail_spans:
        raise BadLineError(f"tail mention {tail_name!r} is not in the sentence")
    if len(head_spans) > 1 or len(tail_spans) > 1 or head_spans[0].overlaps(tail_spans[0]):
        head_spans, tail_spans = keep_apart(head_spans, tail_spans)
    return Mention(head_id, head_name, head_spans), Mention(tail_id, tail_name, tail_spans)


def keep_apart(head: tuple[Span, ...], tail: tuple[Span, ...]) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Return the occurrences left when a name inside the other's longer name no longer counts."""
    if _width(head) >= _width(tail):
        tail = tuple(span for span in tail if not any(span.overlaps(other) for other in head))
    else:
        head = tuple(span for span in head if not any(span.overlaps(other) for other in tail))
    if not head or not tail:
        raise BadLineError("head and tail mention are the same words of the sentence")
    return head, tail


def given_mentions(tokens: Sequence[str], head: Mention, tail: Mention) -> tuple[Mention, Mention]:
    """Return mentions whose spans the corpus gives, checked, with the other occurrences of the same words added."""
    for role, mention in (("head", head), ("tail", tail)):
        for start, stop in mention.spans:
            if not 0 <= start < stop <= len(tokens):
                raise BadLineError(
                    f"{role} mention [{start}, {stop}] lies outside the {len(tokens)} tokens of the sentence"
                )
    for span in head.spans:
        if any(span.overlaps(other) for other in tail.spans):
            raise BadLineError(f"head mention {list(span)} overlaps the tail mention")
    head = head._replace(spans=_with_repeats(tokens, head.spans, tail.spans))
    return head, tail._replace(spans=_with_repeats(tokens, tail.spans, head.spans))


def _with_repeats(tokens: Sequence[str], spans: tuple[Span, ...], taken: tuple[Span, ...]) -> tuple[Span, ...]:
    """Return the spans and, in order, every further stretch of the same tokens that nothing else takes."""
    found = list(spans)
    for words in {tuple(tokens[start:stop]) for start, stop in spans}:
        for start in range(len(tokens) - len(words) + 1):
            if tokens[start] == words[0] and tuple(tokens[start : start + len(words)]) == words:
                span = Span(start, start + len(words))
                if not any(span.overlaps(other) for other in (*found, *taken)):
                    found.append(span)
    return tuple(sorted(found))


def _width(spans: tuple[Span, ...]) -> int:
    return max(stop - start for start, stop in spans)
