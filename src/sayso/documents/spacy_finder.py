"""Find names with spaCy: an entity ruler with all names, plus a model's named entities if given (extra `spacy`)."""

from typing import Any

from sayso.documents.gazetteer import Gazetteer, NameMatch
from sayso.documents.knowledge import Names
from sayso.errors import UserError, import_extra, option

_RULED = "sayso_names"
"""Name of the ruler and label of its matches; no model uses it."""


class SpacyFinder:
    """Finds names with spaCy; the gazetteer looks up their entities and checks their spelling."""

    def __init__(self, gazetteer: Gazetteer, names: Names, model: str = "") -> None:
        """`model`: name or folder of a model; without one, an empty English pipeline is used."""
        self._gazetteer = gazetteer
        self._nlp = _pipeline(model)
        # Runs after the model's entity recogniser, which knows that the Oslo in "Oslo Times" is not a city.
        attribute = "ORTH" if gazetteer.case == "exact" else "LOWER"
        ruler = self._nlp.add_pipe("entity_ruler", _RULED, last=True, config={"phrase_matcher_attr": attribute})
        patterns = {name for found in names.values() for name in found if gazetteer.entity_ids_of(name)}
        ruler.add_patterns([{"label": _RULED, "pattern": name} for name in sorted(patterns)])

    def find(self, text: str) -> list[NameMatch]:
        """Return the names of entities that spaCy finds, in order."""
        return [found for entity in self._nlp(text).ents for found in self._names_in(entity)]

    def _names_in(self, entity: Any) -> list[NameMatch]:
        """Return the names in a span; an entity found by a model must be a name as a whole."""
        found = self._gazetteer.find(entity.text)
        if entity.label_ != _RULED:
            found = [each for each in found if (each.start, each.stop) == (0, len(entity.text))]
        first = entity.start_char
        return [NameMatch(first + each.start, first + each.stop, each.entity_ids) for each in found]


def _pipeline(model: str) -> Any:
    spacy = import_extra("spacy", "the finder spacy", "spacy")  # here, because it loads torch if installed
    try:
        return spacy.load(model) if model else spacy.blank("en")
    except OSError as error:
        raise UserError(
            f"{option('spacy_model')} {model}: spaCy has no such model: install it (python -m spacy download {model}),"
            " pass the folder of a model, or omit the option to find only the knowledge base's names"
        ) from error
