"""Mentions without the full name: the surname of a person, pronouns, and nouns such as "the company".

The rules prefer no antecedent to a wrong one. They are for English; people, places and organizations are told apart by
their types, so entities without a type have no such mentions.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from sayso.documents.doubt import surroundings
from sayso.documents.entity_graph import EntityGraph
from sayso.documents.link import Link
from sayso.documents.split import COMMON_WORDS, ENGLISH
from sayso.readers.base import CharSpan

SentenceLinks = tuple[CharSpan, list[Link]]
ResolvedSentence = tuple[CharSpan, list[Link], list[Link]]

_WORDS_OF_NAMES = ENGLISH["suffixes"] | ENGLISH["of_names"]
"""A name with one of these words is not that of a person."""
_LEADING = "later then afterward afterwards subsequently eventually finally however instead also nevertheless there"
"""Adverbs before the subject of a sentence."""
_NO_NAMES = (
    frozenset(_LEADING.split())
    | COMMON_WORDS
    | ENGLISH["titles"]
    | ENGLISH["demonyms"]
    | ENGLISH["followers"]
    | ENGLISH["beginners"]
)
_NO_SURNAMES = _NO_NAMES | _WORDS_OF_NAMES | ENGLISH["prefixes"]
_OF_OTHERS = frozenset(("mrs", "ms", "miss", "lady", "dame", "madam", "queen", "king", "prince", "princess"))
"""Titles of relatives with the same surname."""
_NAME = re.compile(r"[^\W\d_a-z][\w'’.-]*(?:(?: | of | of the | for )[^\W\d_a-z][\w'’.-]*)*")
_PLACE_BEFORE = re.compile(r"\b(?:in|at|near|to|from) (?:the )?$", re.IGNORECASE)
_PARAGRAPH_END = re.compile(r"\n[^\S\n]*\n")
_QUOTE = re.compile("[\"“”«»]|''")

_PERSON = re.compile(
    rf"(?:(?:{_LEADING.title().replace(' ', '|')}),? "
    r"|(?:In|On|At|By|From|Since|Until|During|Between|Around|Throughout) [^.;:()]{1,50}?,? )?"
    r"((?:[Hh]e|[Ss]he)\b)(?!['’])"
)
"""A pronoun that is the subject of a sentence, at most after an adverb or a preposition with its words."""
_THING = re.compile(
    r"(It) (?:(?:is|was) (?:an?|located|situated|founded|established|built|bordered|surrounded|named|home|part|based"
    r"|headquartered|owned|operated|governed|ruled|the (?:capital|largest|second|third|birthplace|seat)) "
    r"|(?:lies|borders|shares|covers|became|has a|has an|had a|contains|consists|produces|owns|operates|employs|joined"
    r"|declared|hosts|hosted|belongs) )"
)
_CLEFT = re.compile(r"It (?:is|was) [^.,;]*\b(?:that|who|when|where|time)\b")
_IS_DEFINED = re.compile(r"(?: \([^()]*\))?(?:, [^,.;]*,)? (?:is|was|lies|became|borders|covers|consists) ")
"""What follows the subject of a sentence that "It" in the next sentence refers to."""
_FITTING = {
    **dict.fromkeys(("company", "firm", "corporation"), frozenset(("company", "business", "corporation", "firm"))),
    **dict.fromkeys(("city", "town"), frozenset(("city", "town", "citytown"))),
    "country": frozenset(("country", "nation")),
    **dict.fromkeys(("club", "team"), frozenset(("club", "team"))),
    **{noun: frozenset((noun,)) for noun in ("band", "university", "party", "island", "newspaper", "airline")},
}
"""Nouns that may stand for a name, and the words of types that they fit."""
_NOUN = re.compile(
    rf"\b[Tt]he ({'|'.join(_FITTING)})(?=['’]s\b|[,.;]| (?:is|was|has|had|will|would|can|could|may|and|to|in|on|at|from"
    r"|by|with|for|since|until|became|began|lies|made|said|says|won|lost|[a-z]+ed)\b)"
)
_WORD = re.compile(r"[^\W_]+")
_DASHES = frozenset("-–")
_TYPE_WORD = re.compile(r"[/_. -]+")
_MOST_NAMED = 30
"""In a paragraph with more entities, nouns are not resolved."""
_SUBJECT_WITHIN = 30
"""The subject of a sentence begins within this number of characters."""


def ends_paragraph(text: str, start: int, stop: int) -> bool:
    """Return whether there is an empty line between two offsets."""
    return bool(_PARAGRAPH_END.search(text, start, stop))


def short_names(text: str, links: Sequence[Link], graph: EntityGraph) -> list[Link]:
    """Return links of surnames that stand alone, after the document has named exactly one person with this surname.

    A surname that is also that of somebody else in the document, or an ordinary word of it, is left out.
    """
    named: dict[str, dict[str | None, int]] = {}
    for start, stop, entity_id, *_ in links:
        written = text[start:stop].split()
        if len(written) > 1 and _may_be_surname(written[-1]):
            named.setdefault(written[-1], {}).setdefault(entity_id, stop)
    places, lower = dict[str, list[CharSpan]](), {surname.lower() for surname in named}
    ordinary = set()
    for match in _WORD.finditer(text) if named else ():
        if match[0] in named:
            places.setdefault(match[0], []).append(match.span())
        elif match[0] in lower:
            ordinary.add(match[0])
    found: list[Link] = []
    for surname, bearers in named.items():
        entity_id, after = next(iter(bearers.items()))
        is_person = entity_id and graph.kind(entity_id) == "person"
        if len(bearers) == 1 and entity_id and is_person and surname.lower() not in ordinary:
            found += _alone(text, links, places[surname], after, entity_id)
    return sorted(found)


def _may_be_surname(word: str) -> bool:
    is_name = len(word) > 2 and word.isalpha() and word[0].isupper() and not word.isupper()
    return is_name and word.lower() not in _NO_SURNAMES


def _alone(text: str, links: Sequence[Link], places: Sequence[CharSpan], after: int, entity_id: str) -> list[Link]:
    """Return links of a surname where it stands alone; none if the document names somebody else with it."""
    found = []
    for start, stop in places:
        if _covering(links, start, stop):
            continue
        around = surroundings(text, start, stop, -1, -1)
        if around.word_before:
            return []
        is_joined = not _DASHES.isdisjoint((text[start - 1 : start], text[stop : stop + 1]))
        if start >= after and not around.reason and not is_joined and around.title not in _OF_OTHERS:
            found.append(Link(start, stop, entity_id, (entity_id,)))
    return found


def _covering(links: Sequence[Link], start: int, stop: int) -> Link | None:
    """Return the link that overlaps the span, None if there is none."""
    index = bisect_right(links, start, key=lambda each: each.start)
    near = links[max(0, index - 1) : index + 1]
    return next((each for each in near if each.start < stop and start < each.stop), None)


@dataclass(slots=True)
class _Paragraph:
    """What has been named so far in a paragraph.

    `person` and `thing` are the subjects that the next sentence may refer to. `entities` are all entities with a link;
    `has_others` says whether there were other names, or very many.
    """

    num_quotes: int = 0
    person: str = ""
    thing: str = ""
    entities: set[str] = field(default_factory=set)
    has_others: bool = False


class Pronouns:
    """Finds the antecedents of "he", "she", "it" and of nouns such as "the company" within a paragraph.

    - "He" and "she": the previous sentence has exactly one person, as its subject, and no name that may be another one.
    - "It", followed by certain verbs: the thing that the previous sentence begins with and says what it is.
    - "The company": the only company, by its type, that the paragraph has named, if it has named nothing unknown.

    Nothing inside quotation marks is resolved, nor a person whom a document calls both "he" and "she".
    """

    def __init__(self, text: str, graph: EntityGraph) -> None:
        self._text, self._graph = text, graph

    def resolve(self, sentences: Iterable[SentenceLinks]) -> Iterator[ResolvedSentence]:
        """Yield the sentences with their links, and the links of their pronouns and nouns."""
        paragraph, last_stop, found = _Paragraph(), 0, list[ResolvedSentence]()
        for (start, stop), links in sentences:
            if ends_paragraph(self._text, last_stop, start):
                paragraph = _Paragraph()
            last_stop = stop
            added = self._added(paragraph, start, stop, links)
            found.append(((start, stop), links, added))
            self._follow(paragraph, start, stop, links, added)
        pronouns = {
            (link.entity_id, self._text[link.start : link.stop].lower()) for *_, added in found for link in added
        }
        both = {entity_id for entity_id, word in pronouns if word == "he" and (entity_id, "she") in pronouns}
        for span, links, added in found:
            yield span, links, [each for each in added if each.entity_id not in both]

    def _added(self, paragraph: _Paragraph, start: int, stop: int, links: Sequence[Link]) -> list[Link]:
        """Return the links of the pronouns and nouns in a sentence."""
        named = {each.entity_id for each in links}
        found: list[Link] = []
        for place, entity_id in self._referring(paragraph, start, stop, links):
            is_quoted = (paragraph.num_quotes + len(_QUOTE.findall(self._text, start, place[0]))) % 2
            if entity_id and entity_id not in named and not is_quoted and not _covering(links, *place):
                found.append(Link(*place, entity_id, (entity_id,)))
                named.add(entity_id)
        return found

    def _referring(
        self, paragraph: _Paragraph, start: int, stop: int, links: Sequence[Link]
    ) -> Iterator[tuple[CharSpan, str]]:
        """Yield the spans of pronouns and nouns, and their antecedents."""
        text = self._text
        if (found := _PERSON.match(text, start, stop)) and not self._has_others(start, found.start(1), []):
            yield found.span(1), paragraph.person
        elif (found := _THING.match(text, start, stop)) and not _CLEFT.match(text, start, stop):
            yield found.span(1), paragraph.thing
        if not paragraph.has_others:
            for found in _NOUN.finditer(text, start, stop):
                named = paragraph.entities.union(each.entity_id for each in links if each.entity_id)
                fitting = [each for each in named if self._fits(each, found[1])]
                yield found.span(), fitting[0] if len(fitting) == 1 else ""

    def _fits(self, entity_id: str, noun: str) -> bool:
        return not _FITTING[noun].isdisjoint(_TYPE_WORD.split(self._graph.finest(entity_id).lower()))

    def _follow(
        self, paragraph: _Paragraph, start: int, stop: int, links: Sequence[Link], added: Sequence[Link]
    ) -> None:
        """Note what a sentence has named."""
        every = sorted([*links, *added])
        kinds = {each.entity_id or "": self._graph.kind(each.entity_id or "") for each in every}
        people = [entity_id for entity_id, kind in kinds.items() if kind in ("person", "")]
        has_others = self._has_others(start, stop, links)
        first = next((each for each in every if each.entity_id in people), None)
        if has_others or len(people) > 1 or (first and first.start > start + _SUBJECT_WITHIN) or people == [""]:
            paragraph.person = ""
        elif first:
            paragraph.person = first.entity_id or "" if kinds[first.entity_id or ""] == "person" else ""
        subject = every[0] if every and self._text[start : every[0].start] in ("", "The ") else None
        is_defined = subject and (subject in added or _IS_DEFINED.match(self._text, subject.stop, stop))
        is_thing = subject and subject.entity_id and kinds[subject.entity_id] not in ("person", "")
        paragraph.thing = subject.entity_id or "" if subject and is_defined and is_thing else ""
        paragraph.num_quotes += len(_QUOTE.findall(self._text, start, stop))
        paragraph.entities.update(filter(None, kinds))
        are_others = "" in kinds or len(paragraph.entities) > _MOST_NAMED
        paragraph.has_others |= are_others or self._has_others(start, stop, links, of_any=True)

    def _has_others(self, start: int, stop: int, links: Sequence[Link], *, of_any: bool = False) -> bool:
        """Return whether there is a name without a link that may be that of a person, or of anything."""
        text = self._text
        for match in _NAME.finditer(text, start, stop):
            words = [
                word.lower().rstrip(".").removesuffix("'s").removesuffix("’s") for word in re.split(r"[ -]", match[0])
            ]
            is_first = match.start() == start
            if is_first and self._is_ordinary(words[0]):
                words = words[1:]
            unknown = [word for word in words if word and word not in _NO_NAMES and len(word) > 1]
            is_place = _PLACE_BEFORE.search(text, max(start, match.start() - 9), match.start())
            is_short = match[0].isupper() and " " not in match[0]
            is_no_person = is_place or is_short or not _WORDS_OF_NAMES.isdisjoint(words)
            if unknown and (of_any or not is_no_person) and not _covering(links, *match.span()):
                return True
        return False

    def _is_ordinary(self, word: str) -> bool:
        """Return whether the first word of a sentence is also written in lower case."""
        return word.endswith(("ing", "ed", "ly")) or word in self._ordinary

    @cached_property
    def _ordinary(self) -> frozenset[str]:
        return frozenset(word for word in _WORD.findall(self._text) if word.islower())
