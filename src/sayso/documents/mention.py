"""Find the sentences of a document and the entities they mention, with tokens, mentions and offsets."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import compress, count
from operator import add, eq
from typing import NamedTuple

from sayso.documents.document import Document
from sayso.documents.doubt import DoubtfulLink
from sayso.documents.entity_graph import is_new_entity, name_of_new
from sayso.documents.gazetteer import NameMatch, longest_first
from sayso.documents.knowledge import Exceptions
from sayso.documents.link import Link, Linker
from sayso.documents.markup import PlainText, without_markup
from sayso.documents.reference import Pronouns, ResolvedSentence, SentenceLinks, ends_paragraph, short_names
from sayso.documents.settings import FULL_NAMES, ReadingOptions
from sayso.documents.split import blocks, split, stripped
from sayso.readers.base import CharSpan
from sayso.records import Mention, Source, Span
from sayso.tokens import tokenise, tokenise_with_starts

Find = Callable[[str], list[NameMatch]]


class MentionedEntity(NamedTuple):
    """An entity that a sentence mentions, and the character spans of its names in the document."""

    mention: Mention
    places: tuple[CharSpan, ...]


class MentioningSentence(NamedTuple):
    """A sentence that mentions at least two entities; `entities` are in order of first mention.

    Or two neighbouring sentences as one: then `first` are the entities that only the first one mentions, and the others
    are those that only the second one mentions.
    """

    tokens: tuple[str, ...]
    entities: tuple[MentionedEntity, ...]
    source: Source
    first: frozenset[str] = frozenset()


class DocumentReader:
    """Turns documents into sentences that mention entities; keeps statistics and the doubtful links."""

    def __init__(
        self,
        find: Find,
        linker: Linker,
        names: Mapping[str, Sequence[str]],
        max_tokens: int,
        exceptions: Exceptions | None = None,
        options: ReadingOptions = FULL_NAMES,
    ) -> None:
        self._options = options
        self._find, self._linker, self._names, self._max_tokens = find, linker, names, max_tokens
        self._exceptions = exceptions
        self.counts: Counter[str] = Counter()
        self.ambiguous: Counter[str] = Counter()
        self.doubtful: list[DoubtfulLink] = []
        self.too_long: Counter[str] = Counter()
        self.new_entities: Counter[str] = Counter()

    def sentences(self, document: Document) -> Iterator[MentioningSentence]:
        """Yield the sentences that mention at least two entities."""
        plain = without_markup(document.text)
        self.counts["documents"] += 1
        self.counts["documents with HTML"] += plain.start_C is not None
        self.counts["documents not in UTF-8"] += document.is_not_utf8
        self.counts["documents with NUL characters"] += document.has_nul
        last: SentenceLinks = (0, 0), []
        for (start, stop), inside in self._with_links(document, plain):
            self.counts["sentences"] += 1
            if len(inside) > 1:
                yield from self._sentence(document.id, plain, (start, stop), inside)
            if self._options.window > 1:
                if inside and last[1] and not ends_paragraph(plain.text, last[0][1], start):
                    yield from self._two_sentences(document.id, plain, last, ((start, stop), inside))
                last = (start, stop), inside

    def _with_links(self, document: Document, plain: PlainText) -> Iterator[SentenceLinks]:
        """Yield the span of each sentence and the links in it, with those of short names and pronouns if wanted."""
        links = self._links(document, plain)
        # Mentions supplied with the document are complete.
        options, graph = FULL_NAMES if document.mentions is not None else self._options, self._linker.graph
        if options.short_names:
            added = [each for each in short_names(plain.text, links, graph) if self._may_link(document.id, plain, each)]
            self.counts["short names"] += len(added)
            links = sorted([*links, *added])
        found = _with_sentences(plain.text, links)
        if not options.pronouns:
            return found
        resolved = Pronouns(plain.text, graph).resolve(found)
        return self._with_pronouns(document.id, plain, resolved)

    def _with_pronouns(
        self, document_id: str, plain: PlainText, resolved: Iterable[ResolvedSentence]
    ) -> Iterator[SentenceLinks]:
        for span, links, pronouns in resolved:
            added = [each for each in pronouns if self._may_link(document_id, plain, each)]
            self.counts["pronouns"] += len(added)
            yield span, sorted([*links, *added])

    def _may_link(self, document_id: str, plain: PlainText, link: Link) -> bool:
        place = plain.original(link.start, link.stop)
        return not self._exceptions or bool(self._exceptions.allowed(document_id, *place, link.candidates))

    def _links(self, document: Document, plain: PlainText) -> list[Link]:
        """Return the links in the document: those supplied with it, else those of the names found in its text."""
        if document.mentions is None:
            allowed = self._allowed(document.id, plain, self._names_in(plain.text))
            links = self._linker.link(plain.text, allowed)
            self._count(document.id, plain, links)
        else:
            given = ((plain.plain(start, stop), (entity_id,)) for start, stop, entity_id in document.mentions)
            matches = longest_first(
                [NameMatch(*span, ids) for where, ids in given if (span := stripped(plain.text, *where))]
            )
            allowed = self._allowed(document.id, plain, matches)
            links = [Link(*each[:2], each.entity_ids[0], each.entity_ids) for each in allowed]
        self.counts["names"] += len(links)
        return links

    def _allowed(self, document_id: str, plain: PlainText, found: list[NameMatch]) -> list[NameMatch]:
        """Return the names without the entities that the exceptions rule out; a name with no entity left is dropped."""
        if not self._exceptions:
            return found
        kept = []
        for each in found:
            place = plain.original(each.start, each.stop)
            ids = self._exceptions.allowed(document_id, *place, each.entity_ids)
            self.counts["links ruled out"] += len(each.entity_ids) - len(ids)
            kept += [each._replace(entity_ids=ids)] if ids else []
        return kept

    def _names_in(self, text: str) -> list[NameMatch]:
        found: list[NameMatch] = []
        for start, stop in blocks(text):
            here = self._find(text[start:stop])
            found += [NameMatch(a + start, b + start, entity_ids) for a, b, entity_ids in here] if start else here
        return found

    def _count(self, document_id: str, plain: PlainText, links: Sequence[Link]) -> None:
        for start, stop, entity_id, candidates, doubt in links:
            if doubt:
                place = plain.original(start, stop)
                self.doubtful.append(DoubtfulLink(document_id, *place, plain.text[start:stop], candidates, doubt))
            elif len(candidates) > 1:
                self.counts["ambiguous names"] += 1
                self.counts["ambiguous names resolved"] += entity_id is not None
                self.ambiguous[plain.text[start:stop]] += 1

    def _two_sentences(
        self, document_id: str, plain: PlainText, one: SentenceLinks, two: SentenceLinks
    ) -> Iterator[MentioningSentence]:
        """Yield two neighbouring sentences as one, with the entities that only one of them mentions."""
        first, second = ({each.entity_id for each in links if each.entity_id} for _, links in (one, two))
        if not first - second or not second - first:
            return
        links = [each for each in (*one[1], *two[1]) if each.entity_id in first ^ second]
        where = one[0][0], two[0][1]
        yield from self._sentence(document_id, plain, where, links, frozenset(first - second), one[0][1])

    def _sentence(
        self,
        document_id: str,
        plain: PlainText,
        where: CharSpan,
        links: Sequence[Link],
        first: frozenset[str] = frozenset(),
        cut: int = 0,
    ) -> Iterator[MentioningSentence]:
        entities: dict[str, list[CharSpan]] = {}
        for start, stop, entity_id, *_ in links:
            if entity_id is not None:
                entities.setdefault(entity_id, []).append((start, stop))
        if len(entities) < 2:
            return
        begin, end = where
        text = plain.text[begin:end]
        inside = {key: [(start - begin, stop - begin) for start, stop in found] for key, found in entities.items()}
        edges = [edge for found in inside.values() for span in found for edge in span]
        tokens, starts = cut_at(*tokens_with_starts(text, cut - begin), edges)
        if len(tokens) > self._max_tokens:
            self.counts["sentences too long"] += not first
            self.too_long[document_id] += not first
            return
        mentioned = []
        for entity_id, found in inside.items():
            written = text[slice(*found[0])]
            name = name_of_new(entity_id) or self._names.get(entity_id, (written,))[0]
            places = tuple(plain.original(start, stop) for start, stop in entities[entity_id])
            mentioned.append(MentionedEntity(Mention(entity_id, name, tuple(spans_of(found, starts))), places))
        self.counts["neighbouring sentences with pairs" if first else "sentences with pairs"] += 1
        if not first:
            self.new_entities.update(each for each in entities if is_new_entity(each))
        source = Source(document_id, *plain.original(begin, end), *spelling(text, tokens, starts))
        yield MentioningSentence(tuple(tokens), tuple(mentioned), source, first)


def plain_sentences(text: str) -> Iterator[list[str]]:
    """Yield the tokens of each sentence of a document, whether or not it has names.

    >>> list(plain_sentences("<p>Ana left. Bo stayed.</p>"))
    [['Ana', 'left', '.'], ['Bo', 'stayed', '.']]
    """
    plain = without_markup(text).text
    for begin, end in blocks(plain):
        yield from (tokenise(plain[begin + start : begin + stop]) for start, stop in split(plain[begin:end]))


def _with_sentences(text: str, found: Sequence[Link]) -> Iterator[SentenceLinks]:
    """Yield the span of each sentence in the text, and the names in it."""
    number = 0
    for begin, end in blocks(text):
        first = number
        while number < len(found) and found[number].stop <= end:
            number += 1
        # A mention supplied with the document may cross a block boundary; then it belongs to no sentence.
        here = [each for each in found[first:number] if each.start >= begin]
        index = 0
        for start, stop in split(text[begin:end], [(each.start - begin, each.stop - begin) for each in here]):
            inside = []
            while index < len(here) and here[index].stop <= begin + stop:
                inside.append(here[index])
                index += 1
            yield (begin + start, begin + stop), inside


def tokens_with_starts(text: str, cut: int = 0) -> tuple[list[str], list[int]]:
    """Return the tokens of a sentence and their start offsets; a token is as long as the text it stands for.

    A second sentence may begin after the offset `cut`: only there is a full stop in the middle a token.

    >>> tokens_with_starts("Rome's  mayor."), tokens_with_starts("Ana left. Bo sang.", 9)[0]
    ((['Rome', "'s", 'mayor', '.'], [0, 4, 8, 13]), ['Ana', 'left', '.', 'Bo', 'sang', '.'])
    """
    if cut <= 0:
        return tokenise_with_starts(text)
    (tokens, starts), (later, offsets) = tokenise_with_starts(text[:cut]), tokenise_with_starts(text[cut:])
    return tokens + later, starts + [cut + offset for offset in offsets]


def cut_at(tokens: list[str], starts: list[int], edges: Iterable[int]) -> tuple[list[str], list[int]]:
    """Split the tokens at edges that fall inside them; return the tokens and their start offsets.

    >>> cut_at(["Boston-based", "Acme"], [0, 13], [6])
    (['Boston', '-based', 'Acme'], [0, 6, 13])
    """
    inside = sorted({edge for edge in edges if _falls_inside(edge, tokens, starts)}, reverse=True)
    if not inside:
        return tokens, starts
    cut_tokens, cut_starts = [], []
    for token, start in zip(tokens, starts, strict=True):
        while inside and inside[-1] <= start:
            inside.pop()
        while inside and inside[-1] < start + len(token):
            edge = inside.pop()
            cut_tokens.append(token[: edge - start])
            cut_starts.append(start)
            token, start = token[edge - start :], edge
        cut_tokens.append(token)
        cut_starts.append(start)
    return cut_tokens, cut_starts


def _falls_inside(edge: int, tokens: Sequence[str], starts: Sequence[int]) -> bool:
    index = bisect_left(starts, edge) - 1
    return index >= 0 and edge < starts[index] + len(tokens[index]) and starts[index] != edge


def spelling(text: str, tokens: Sequence[str], starts: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the indices of the `glued` and the `curly` tokens, as defined by `Source`.

    >>> spelling("Rome’s  mayor.", *tokenise_with_starts("Rome’s  mayor."))
    ((1, 3), (1,))
    """
    stops = list(map(add, starts, map(len, tokens)))
    glued = compress(count(1), map(eq, starts[1:], stops))
    spelled = enumerate(zip(tokens, starts, stops, strict=True)) if "’" in text else ()
    curly = [number for number, (token, start, stop) in spelled if text[start:stop] != token]
    return tuple(glued), tuple(curly)


def spans_of(spans: Iterable[CharSpan], starts: Sequence[int]) -> list[Span]:
    """Convert character spans, whose edges are token edges, to token spans."""
    return [Span(bisect_left(starts, start), bisect_left(starts, stop)) for start, stop in spans]
