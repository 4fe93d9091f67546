"""The words around mentions, kept for the typer: a line for each mention of each entity of a sentence."""

from collections.abc import Collection, Iterable, Iterator

from sayso.documents.mention import MentioningSentence

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


def entities_of(lines: Iterable[str]) -> set[str]:
    """Return the entities that have contexts."""
    return {line.partition("\t")[0] for line in lines}


def read_contexts(lines: Iterable[str], wanted: Collection[str]) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield the first contexts of each wanted entity: its id, the words before and the words after."""
    num_read = dict.fromkeys(wanted, 0)
    for line in lines:
        entity_id, before, after = line.rstrip("\n").split("\t")
        if num_read.get(entity_id, MAX_CONTEXTS) < MAX_CONTEXTS:
            num_read[entity_id] += 1
            yield entity_id, before.split(" "), after.split(" ")
