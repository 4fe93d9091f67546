"""Facts as JSON-LD in the W3C Web Annotation model: statements about the sentences that are their evidence.

Each fact is an annotation: the body is the statement (subject, predicate, object), the targets are its quotes. If the
corpus has documents, a target selects the sentence by its position in the document and, within it, the span that names
both entities; otherwise only the span, by its text and context.
"""

import json
import re
import uuid
from collections.abc import Iterable, Iterator, Sequence
from textwrap import indent
from typing import Any
from urllib.parse import quote as percent_encoded

from sayso import __version__
from sayso.documents.entity_graph import is_new_entity
from sayso.facts.fact import DecidedFact, ExtractedFact, QuotedFact
from sayso.facts.quote import Quote

_TERMS = "urn:x-sayso:"
"""Namespace of our own terms, for what the Web Annotation vocabulary lacks."""
_IRI = re.compile(r"(?:https?://|urn:|doi:)[^\s<>\"{}|\\^`\x00-\x1f\x7f-\x9f]+", re.IGNORECASE)


def web_annotations(facts: Sequence[DecidedFact]) -> str:
    """Return the facts as one annotation collection; the output is deterministic."""
    items = [_decided(fact) for fact in facts]
    name = uuid.uuid5(uuid.NAMESPACE_URL, "\n".join(item["id"] for item in items))
    return "".join(_collection(items, len(items), name, "Decided facts with the sentences shown as evidence"))


def extracted_annotations(facts: Iterable[ExtractedFact], total: int, identity: str) -> Iterator[str]:
    """Yield the text of one annotation collection of `total` extracted facts, piece by piece.

    `identity` identifies corpus and model; it determines the id of the collection.
    """
    name = uuid.uuid5(uuid.NAMESPACE_URL, _TERMS + identity)
    return _collection(
        map(_extracted, facts),
        total,
        name,
        "Facts that a model predicts from text, with the top-ranked sentences as evidence",
    )


def _collection(items: Iterable[dict[str, Any]], total: int, name: uuid.UUID, label: str) -> Iterator[str]:
    collection = {
        "@context": ["http://www.w3.org/ns/anno.jsonld", {"sayso": _TERMS}],
        "id": f"urn:uuid:{name}",
        "type": "AnnotationCollection",
        "label": label,
        "total": total,
        "first": {
            "id": f"urn:uuid:{uuid.uuid5(name, 'page')}",
            "type": "AnnotationPage",
            "startIndex": 0,
            "items": [],
        },
    }
    before, after = json.dumps(collection, ensure_ascii=False, indent=2).split("[]")
    yield f"{before}["
    for number, item in enumerate(items):
        text = json.dumps(item, ensure_ascii=False, indent=2)
        yield f"{',' if number else ''}\n{indent(text, ' ' * 6)}"
    yield f"\n    ]{after}\n"


def _decided(fact: DecidedFact) -> dict[str, Any]:
    reason = {"type": "TextualBody", "value": fact.reason, "format": "text/plain", "purpose": "commenting"}
    creation = {
        "created": fact.decided_at.replace("+00:00", "Z"),  # UTC as the Web Annotation model writes it
        "creator": {"type": "Person", "name": fact.annotator},
    }
    about: dict[str, Any] = {"sayso:decision": fact.decision, "sayso:isInKnowledgeBase": fact.is_label}
    if rejected := [{**_target(fact, each), "sayso:reason": each.reason} for each in fact.quotes if each.is_rejected]:
        about["sayso:rejectedQuote"] = rejected
    return {**_annotation(fact, creation, [reason] if fact.reason else [], fact.annotator, fact.decided_at), **about}


def _extracted(fact: ExtractedFact) -> dict[str, Any]:
    status = {"sayso:status": fact.status} if fact.status else {}
    return {**_annotation(fact, {}, []), "sayso:support": fact.support.kind, **status}


def _annotation(
    fact: QuotedFact, creation: dict[str, Any], comments: list[dict[str, str]], *identity: str
) -> dict[str, Any]:
    """Return the annotation of any fact; its id is that of the fact, its model and `identity`."""
    statement = {
        "type": "rdf:Statement",
        "rdf:subject": _entity(fact.head_id, fact.head_name),
        "rdf:predicate": {"id": _iri("relation", fact.relation), "label": fact.relation},
        "rdf:object": _entity(fact.tail_id, fact.tail_name),
    }
    name = json.dumps([*fact.triple, fact.model_fingerprint, *identity])
    return {
        "id": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, _TERMS + name)}",
        "type": "Annotation",
        "motivation": "describing",
        **creation,
        "generator": {
            "id": _iri("model", fact.model_fingerprint),
            "type": "Software",
            "name": f"sayso {__version__}, {fact.variant}",
            "sayso:run": fact.run,
            "sayso:data": fact.data_fingerprint,
        },
        "target": [_target(fact, each) for each in fact.quotes if not each.is_rejected],
        "sayso:probability": fact.probability,
        "sayso:mechanism": fact.mechanism,
        "body": [statement, *comments],
    }


def _entity(entity_id: str, name: str) -> dict[str, Any]:
    new = {"sayso:isNewEntity": True} if is_new_entity(entity_id) else {}
    return {"id": _iri("entity", entity_id), "label": name, **new}


def _target(fact: QuotedFact, each: Quote) -> dict[str, Any]:
    selector: dict[str, Any] = {
        "type": "TextQuoteSelector",
        "exact": each.exact,
        "prefix": each.prefix,
        "suffix": each.suffix,
    }
    place = _iri("store", fact.data_fingerprint)
    if each.source:
        place = _iri("document", each.source.document_id)
        bounds = {"start": each.source.start, "end": each.source.stop}
        selector = {"type": "TextPositionSelector", **bounds, "refinedBy": selector}
    about = {"sayso:rank": each.rank, "sayso:score": each.score, **({"sayso:mark": each.mark} if each.mark else {})}
    return {"type": "SpecificResource", "source": place, "selector": selector, **about}


def _iri(kind: str, name: str) -> str:
    """Return the name as an IRI, unchanged if it already is one.

    >>> _iri("entity", "m.05 bcl"), _iri("entity", "http://www.wikidata.org/entity/Q3935")
    ('urn:x-sayso:entity:m.05%20bcl', 'http://www.wikidata.org/entity/Q3935')
    """
    return name if _IRI.fullmatch(name) else f"{_TERMS}{kind}:{percent_encoded(name, safe='/:')}"
