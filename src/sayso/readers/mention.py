"""Where a sentence names an entity: every occurrence, head and tail kept apart."""

from collections.abc import Sequence

from sayso.readers.base import BadLineError
from sayso.records import Mention, Span
from sayso.tokens import apart_from, is_free_of, keep_apart, locate


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
        try:
            head_spans, tail_spans = keep_apart(head_spans, tail_spans)
        except ValueError as error:
            raise BadLineError(str(error)) from None
    return Mention(head_id, head_name, head_spans), Mention(tail_id, tail_name, tail_spans)


def given_mentions(tokens: Sequence[str], head: Mention, tail: Mention) -> tuple[Mention, Mention]:
    """Return mentions whose spans the corpus gives, checked, with the other occurrences of the same words added."""
    for role, mention in (("head", head), ("tail", tail)):
        for start, stop in mention.spans:
            if not 0 <= start < stop <= len(tokens):
                raise BadLineError(
                    f"{role} mention [{start}, {stop}] lies outside the {len(tokens)} tokens of the sentence"
                )
    if overlap(head.spans, tail.spans):
        taken = next(span for span in head.spans if not apart_from((span,), tail.spans))
        raise BadLineError(f"head mention {list(taken)} overlaps the tail mention")
    head = head._replace(spans=_with_repeats(tokens, head.spans, tail.spans))
    return head, tail._replace(spans=_with_repeats(tokens, tail.spans, head.spans))


def overlap(spans: tuple[Span, ...], others: tuple[Span, ...]) -> bool:
    """Say whether a span shares a token with one of the others."""
    if len(spans) == len(others) == 1:  # as nearly every sentence has them
        return spans[0].overlaps(others[0])
    return len(apart_from(spans, others)) < len(spans)


def _with_repeats(tokens: Sequence[str], spans: tuple[Span, ...], taken: tuple[Span, ...]) -> tuple[Span, ...]:
    """Return the spans and, in order, every further stretch of the same tokens that nothing else takes."""
    named = {tuple(tokens[start:stop]) for start, stop in spans}
    first_words, widths = {words[0] for words in named}, sorted({len(words) for words in named}, reverse=True)
    is_free, found, last = is_free_of((*spans, *taken)), list(spans), 0
    for start in (place for place, token in enumerate(tokens) if token in first_words):
        for width in widths:
            span = Span(start, start + width)
            if start >= last and tuple(tokens[start : span.stop]) in named and is_free(span):
                found.append(span)
                last = span.stop
    return tuple(sorted(found))
