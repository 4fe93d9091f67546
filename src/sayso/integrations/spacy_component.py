"""A spaCy pipeline component: `nlp.add_pipe("sayso", config={"run": "runs/demo"})` extracts facts from
every document.

It pairs the named entities of each sentence, predicts every pair from all its sentences in the document, and stores the
facts with their evidence in `Doc._.sayso`; `Span._.sayso` has those with evidence in the span.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

from sayso.errors import MissingExtraError
from sayso.extract.predict import FactPredictor, origin_of
from sayso.extract.settings import ExtractSettings
from sayso.facts.fact import ExtractedFact
from sayso.model.ensemble import load_parts
from sayso.records import Bag, Mention, Sentence, Source, Span
from sayso.tokens import control_character

try:
    from spacy.language import Language
    from spacy.tokens import Doc
    from spacy.tokens import Span as DocSpan
except ImportError:
    raise MissingExtraError("the spaCy component", "spacy") from None

_KEY = "sayso"
"""The key of the facts in `Doc.user_data`."""

_DEFAULTS: dict[str, Any] = {"threshold": 0.5, "method": "shapley", "max_evidence": 5, "types": {}}


@Language.factory("sayso", default_config={"run": "", **_DEFAULTS}, assigns=["doc._.sayso"], requires=["doc.ents"])
def create(
    nlp: Language, name: str, run: str, threshold: float, method: str, max_evidence: int, types: dict[str, str]
) -> "FactFinder":
    """Return the component; `types` maps entity labels to the model's types, such as PERSON: /person."""
    del nlp
    if not run:
        raise ValueError(
            f"{name}: `run` is missing: pass a run or model folder, e.g."
            " nlp.add_pipe('sayso', config={'run': 'runs/demo'})"
        )
    settings = ExtractSettings(threshold=threshold, method=method, max_evidence=max_evidence)
    model = load_parts(Path(run))
    return FactFinder(
        FactPredictor(model=model, settings=settings, origin=origin_of(Path(run), model), types={}), types
    )


@dataclass(frozen=True)
class FactFinder:
    """The component; an entity is identified by `kb_id_`, else by `ent_id_`, else by its words."""

    predictor: FactPredictor
    types: dict[str, str]

    def __call__(self, doc: Doc) -> Doc:
        """Return the document with its facts, most probable first."""
        bags: dict[tuple[str, str], list[Sentence]] = {}
        for sentence in _sentences(doc):
            bags.setdefault(sentence.pair, []).append(sentence)
        types = {_entity_id(each): self.types[each.label_] for each in doc.ents if each.label_ in self.types}
        found = replace(self.predictor, types=types).find([Bag(*pair, tuple(each)) for pair, each in bags.items()])
        # As JSON: spaCy can only serialise plain values, to disk or between processes.
        doc.user_data[_KEY] = [fact.to_json() for fact in sorted(found.facts, key=lambda fact: fact.sort_key)]
        return doc


def _facts_of_doc(doc: Any) -> list[ExtractedFact]:
    """Return the facts of the document, empty if the component has not run."""
    return [ExtractedFact.from_json(text) for text in doc.user_data.get(_KEY, ())]


def _facts_of_span(span: Any) -> list[ExtractedFact]:
    """Return the facts of the document that have evidence inside the span."""
    return [
        fact
        for fact in _facts_of_doc(span.doc)
        if any(q.source and span.start_char <= q.source.start and q.source.stop <= span.end_char for q in fact.quotes)
    ]


if not Doc.has_extension("sayso"):
    Doc.set_extension("sayso", getter=_facts_of_doc)
    DocSpan.set_extension("sayso", getter=_facts_of_span)


def _sentences(doc: Any) -> Iterator[Sentence]:
    """Yield each sentence once per ordered pair of different entities in it."""
    if not doc.has_annotation("SENT_START"):
        raise ValueError('sayso needs sentence boundaries: add nlp.add_pipe("sentencizer") or a parser before it')
    for sent in doc.sents:
        entities: dict[str, list[Any]] = {}
        for entity in sent.ents:
            if control_character(_entity_id(entity), _name(entity)):
                continue  # facts about it could not be exported
            entities.setdefault(_entity_id(entity), []).append(entity)
        words = [token for token in sent if not token.is_space]
        places = {token.i: place for place, token in enumerate(words)}
        neighbours = enumerate(pairwise(words), 1)
        glued = [place for place, (one, other) in neighbours if one.i + 1 == other.i and not one.whitespace_]
        source = Source("", sent.start_char, sent.end_char, tuple(glued))
        mentions = [_mention(entity_id, found, places) for entity_id, found in entities.items()]
        for head, tail in permutations(mentions, 2):
            yield Sentence(tuple(token.text for token in words), head, tail, source=source)


def _mention(entity_id: str, found: list[Any], places: dict[int, int]) -> Mention:
    spans = []
    for entity in found:
        inside = [places[token.i] for token in entity if token.i in places]
        spans.append(Span(inside[0], inside[-1] + 1))
    return Mention(entity_id, _name(found[0]), tuple(spans))


def _entity_id(entity: Any) -> str:
    return str(entity.kb_id_ or entity.ent_id_ or _name(entity))


def _name(entity: Any) -> str:
    """Return the entity's words, separated by single spaces."""
    return " ".join(entity.text.split())
