"""A sentence's pairs as lines of our own form: what they share is turned into JSON once."""

import json
from collections.abc import Sequence

from sayso.documents.align import AlignedPair
from sayso.documents.mention import MentionedEntity, MentioningSentence
from sayso.readers import jsonl

_json = json.JSONEncoder(ensure_ascii=False).encode


def lines_of(sentence: MentioningSentence, pairs: Sequence[AlignedPair]) -> list[str]:
    """Return a line for each pair, as `readers.jsonl` reads them.

    `places`, which only we write, is where the mentions stand in the document, in characters.
    """
    tokens = _json(sentence.tokens)
    document = _json(jsonl.document_record(sentence.source))
    entities = {entity.mention.entity_id: _entity(entity) for entity in sentence.entities}
    return [
        f'{{"tokens": {tokens}, "head": {entities[pair.head.mention.entity_id]}, '
        f'"tail": {entities[pair.tail.mention.entity_id]}, '
        f'"relations": {_json(pair.relations)}, "document": {document}}}'
        for pair in pairs
    ]


def _entity(entity: MentionedEntity) -> str:
    (entity_id, name, spans), places = entity
    return _json({"id": entity_id, "name": name, "spans": spans, "places": places})
