"""The words around mentions, kept for the typer: a line for each mention of each entity of a sentence."""

from collections.abc import Iterable, Iterator

from sayso.text.mentioned import MentioningSentence

WIDTH = 3
"""Words to either side."""

MAX_CONTEXTS = 20
"""Contexts that count for an entity: the first in the corpus's order."""


def context_lines(sentence: MentioningSentence) -> Iterator[str]:
    """Yield entity id, words before and words after, with tabs between."""
    tokens = sentence.tokens
    for entity in sentence.entities:
        for start, stop in entity.mention.spans[:1]:
            before, after = tokens[max(0, start - WIDTH) : start], tokens[stop : stop + WIDTH]
            yield f"{entity.mention.entity_id}\t{' '.join(before)}\t{' '.join(after)}"


def read_contexts(lines: Iterable[str]) -> dict[str, list[tuple[list[str], list[str]]]]:
    """Return the first contexts of each entity: words before and words after."""
    contexts: dict[str, list[tuple[list[str], list[str]]]] = {}
    for line in lines:
        entity_id, before, after = line.rstrip("\n").split("\t")
        found = contexts.setdefault(entity_id, [])
        if len(found) < MAX_CONTEXTS:
            found.append((before.split(" "), after.split(" ")))
    return contexts
