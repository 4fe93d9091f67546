"""Sentences of a document with the entities they name: the step before pairs."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from sayso.documents.block import blocks
from sayso.documents.document import Document
from sayso.documents.gazetteer import Found, longest_first
from sayso.documents.link import Linker, continues_a_name
from sayso.documents.markup import PlainText, without_markup
from sayso.documents.split import split
from sayso.documents.token import cut_at, spans_of, spelling, tokens_with_places
from sayso.records import Mention, Source

Stretch = tuple[int, int]
Find = Callable[[str], list[Found]]


class MentionedEntity(NamedTuple):
    """An entity that a sentence names, and where its names stand in the document, in characters."""

    mention: Mention
    places: tuple[Stretch, ...]


class MentioningSentence(NamedTuple):
    """A sentence that names at least two entities, in order of their first names."""

    tokens: tuple[str, ...]
    entities: tuple[MentionedEntity, ...]
    source: Source


class DocumentReader:
    """Turns documents into sentences that name entities; counts what it sees in `counts` and `ambiguous`."""

    def __init__(self, find: Find, linker: Linker, names: Mapping[str, Sequence[str]], max_tokens: int) -> None:
        self._find, self._linker, self._names, self._max_tokens = find, linker, names, max_tokens
        self.counts: Counter[str] = Counter()
        self.ambiguous: Counter[str] = Counter()

    def sentences(self, document: Document) -> Iterator[MentioningSentence]:
        """Yield the sentences that name two entities or more."""
        plain = without_markup(document.text)
        self.counts["documents"] += 1
        self.counts["documents with HTML"] += plain.start_C is not None
        self.counts["documents not in UTF-8"] += document.is_not_utf8
        self.counts["documents with NUL characters"] += document.has_nul
        found = self._found(document, plain)
        named = frozenset(each.entity_ids[0] for each in found if len(each.entity_ids) == 1)
        for (start, stop), inside in _with_sentences(plain.text, found):
            self.counts["sentences"] += 1
            if len(inside) > 1:
                yield from self._sentence(document.id, plain, (start, stop), self._entities(plain, inside, named))

    def _found(self, document: Document, plain: PlainText) -> list[Found]:
        """Return the names of the document, those it comes with instead of those that could be found."""
        if document.mentions is None:
            found = [
                each._replace(start=each.start + start, stop=each.stop + start)
                for start, stop in blocks(plain.text)
                for each in self._find(plain.text[start:stop])
            ]
        else:
            given = ((*plain.plain(start, stop), (entity_id,)) for start, stop, entity_id in document.mentions)
            found = longest_first([Found(*trimmed) for each in given if (trimmed := _trimmed(plain.text, *each))])
        self.counts["names"] += len(found)
        return found

    def _entities(self, plain: PlainText, found: Sequence[Found], named: frozenset[str]) -> dict[str, list[Stretch]]:
        """Return where each entity of a sentence is named."""
        entities: dict[str, list[Stretch]] = {}
        for each, entity_id in zip(found, self._linker.link(found, named), strict=True):
            if len(each.entity_ids) > 1:
                if continues_a_name(plain.text, each.start):
                    entity_id = None
                self.counts["ambiguous names"] += 1
                self.counts["ambiguous names resolved"] += entity_id is not None
                self.ambiguous[plain.text[each.start : each.stop]] += 1
            if entity_id is not None:
                entities.setdefault(entity_id, []).append((each.start, each.stop))
        return entities

    def _sentence(
        self, document_id: str, plain: PlainText, where: Stretch, entities: dict[str, list[Stretch]]
    ) -> Iterator[MentioningSentence]:
        if len(entities) < 2:
            return
        begin, end = where
        text = plain.text[begin:end]
        inside = {key: [(start - begin, stop - begin) for start, stop in found] for key, found in entities.items()}
        edges = [edge for found in inside.values() for stretch in found for edge in stretch]
        tokens, starts = cut_at(*tokens_with_places(text), edges)
        if len(tokens) > self._max_tokens:
            self.counts["sentences too long"] += 1
            return
        mentioned = []
        for entity_id, found in inside.items():
            first = text[slice(*found[0])]
            name = self._names.get(entity_id, (first,))[0]
            places = tuple(plain.original(start, stop) for start, stop in entities[entity_id])
            mentioned.append(MentionedEntity(Mention(entity_id, name, tuple(spans_of(found, starts))), places))
        self.counts["sentences with pairs"] += 1
        source = Source(document_id, *plain.original(begin, end), *spelling(text, tokens, starts))
        yield MentioningSentence(tuple(tokens), tuple(mentioned), source)


def _trimmed(text: str, start: int, stop: int, entity_ids: tuple[str, ...]) -> tuple[int, int, tuple[str, ...]] | None:
    """Return the stretch without white space at its edges; None where nothing is left."""
    piece = text[start:stop]
    inner = piece.strip()
    begin = start + len(piece) - len(piece.lstrip())
    return (begin, begin + len(inner), entity_ids) if inner else None


def _with_sentences(text: str, found: Sequence[Found]) -> Iterator[tuple[Stretch, list[Found]]]:
    """Yield each sentence of the text with the names in it."""
    number = 0
    for begin, end in blocks(text):
        first = number
        while number < len(found) and found[number].stop <= end:
            number += 1
        # A mention that the document came with may lie across the cut; it belongs to no sentence then.
        here = [each for each in found[first:number] if each.start >= begin]
        index = 0
        for start, stop in split(text[begin:end], [(each.start - begin, each.stop - begin) for each in here]):
            inside = []
            while index < len(here) and here[index].stop <= begin + stop:
                inside.append(here[index])
                index += 1
            yield (begin + start, begin + stop), inside
