"""Find names with spaCy: an entity ruler with all names, plus a model's named entities if given (extra `spacy`)."""

import re
from typing import Any

from sayso.documents.entity_graph import Kind, new_entity_id
from sayso.documents.gazetteer import Gazetteer, NameMatch, stop_reason
from sayso.documents.knowledge import Names
from sayso.documents.split import ENGLISH
from sayso.errors import UserError, import_extra, option
from sayso.readers.base import CharSpan

_RULED = "sayso_names"
"""Name of the ruler and label of its matches; no model uses it."""

KINDS: dict[str, Kind] = {
    **dict.fromkeys(("PERSON", "PER"), "person"),
    **dict.fromkeys(("GPE", "LOC", "FAC"), "place"),
    "ORG": "organization",
}
"""The labels of named entities that may become new entities, and their kinds."""
_WORD = re.compile(r"[^\W_](?:[\w.'’&-]*\w)?")
_MOST_WORDS = 6
_INITIALS = re.compile(r"(?:[^\W\d_]\.[ -]?)+")
_LEADING = re.compile(r"[\W_]*(?:[Tt]he\s+)?")
_TRAILING = re.compile(r"(?:s?['’]|[^\w.)]|_)*")  # of the reversed text
_FIRST_WORD = re.compile(r"([^\W\d_]+\.?)\s+")
_ERAS = frozenset(("ad", "bc", "bce", "ce"))
_NO_NAMES = _ERAS | ENGLISH["titles"] | ENGLISH["demonyms"] | ENGLISH["followers"] | ENGLISH["suffixes"]


class SpacyFinder:
    """Finds names with spaCy; the gazetteer looks up their entities and checks their spelling.

    With `new_entities`, a named entity that no name of the knowledge base resembles becomes an entity of its own.
    """

    def __init__(self, gazetteer: Gazetteer, names: Names, model: str = "", new_entities: bool = False) -> None:
        """`model`: name or folder of a model; without one, an empty English pipeline is used."""
        self._gazetteer, self._with_new = gazetteer, new_entities
        self._arguments = gazetteer, names, model, new_entities
        self._nlp = _pipeline(model)
        # Runs after the model's entity recogniser, which knows that the Oslo in "Oslo Times" is not a city.
        attribute = "ORTH" if gazetteer.case == "exact" else "LOWER"
        ruler = self._nlp.add_pipe("entity_ruler", _RULED, last=True, config={"phrase_matcher_attr": attribute})
        patterns = {name for found in names.values() for name in found if gazetteer.entity_ids_of(name)}
        ruler.add_patterns([{"label": _RULED, "pattern": name} for name in sorted(patterns)])
        self._known = {_folded(name) for found in names.values() for name in found} if new_entities else set()

    def __reduce__(self) -> tuple[type["SpacyFinder"], tuple[Gazetteer, Names, str, bool]]:
        """Make the pipeline again in another process; it cannot always be copied."""
        return SpacyFinder, self._arguments

    def find(self, text: str) -> list[NameMatch]:
        """Return the names of entities that spaCy finds, in order."""
        return [found for entity in self._nlp(text).ents for found in self._names_in(entity)]

    def _names_in(self, entity: Any) -> list[NameMatch]:
        """Return the names in a span; an entity found by a model must be a name as a whole, or is a new one."""
        text, first = entity.text, entity.start_char
        found = self._gazetteer.find(text)
        if entity.label_ != _RULED:
            kind = KINDS.get(entity.label_, "")
            start, stop = _trimmed(text, kind)
            initials = _INITIALS.match(text, start)
            starts = 0, start, initials.end() if initials else start  # the linker compares the initials
            found = [each for each in found if each.start in starts and each.stop in (stop, len(text))]
            if not found and self._with_new and self._is_new(text[start:stop], kind):
                found = [NameMatch(start, stop, (new_entity_id(kind, text[start:stop]),))]
        return [NameMatch(first + each.start, first + each.stop, each.entity_ids) for each in found]

    def _is_new(self, name: str, kind: str) -> bool:
        """Return whether a span is a name by itself and not one of the knowledge base, in any spelling."""
        words = _WORD.findall(name)
        is_name = name.isprintable() and not name.islower() and not stop_reason(name) and len(words) <= _MOST_WORDS
        if not kind or not is_name or _folded(name) in self._known:
            return False
        # A first name or a surname alone says too little, and models take many words for organizations.
        return len(words) > (kind != "place") and not all(word.lower().rstrip(".") in _NO_NAMES for word in words)


def _trimmed(text: str, kind: str) -> CharSpan:
    """Return the span of a name without the article, titles of a person, possessive and punctuation around it.

    >>> _trimmed("Prof. Ana Diaz's", "person"), _trimmed("the Acme Corp.,", "organization"), _trimmed("U.S.", "place")
    ((6, 14), (4, 13), (0, 4))
    """
    start, stop = 0, len(text)
    if found := _LEADING.match(text):
        start = found.end()
    if found := _TRAILING.match(text[::-1]):
        stop -= found.end()
    if text[:stop].endswith(".") and "." not in text[start : stop - 1].rpartition(" ")[2]:
        stop -= 1  # Corp. is Corp
    while kind == "person" and (title := _FIRST_WORD.match(text, start)) and _is_title(title[1]):
        start = title.end()
    return min(start, stop), stop


def _is_title(word: str) -> bool:
    return word.lower().rstrip(".") in ENGLISH["titles"]


def _folded(name: str) -> str:
    return " ".join(_WORD.findall(name.lower())).removeprefix("the ")


def _pipeline(model: str) -> Any:
    spacy = import_extra("spacy", "the finder spacy", "spacy")  # here, because it loads torch if installed
    try:
        return spacy.load(model) if model else spacy.blank("en")
    except OSError as error:
        raise UserError(
            f"{option('spacy_model')} {model}: spaCy has no such model: install it (python -m spacy download {model}),"
            " pass the folder of a model, or omit the option to find only the knowledge base's names"
        ) from error
