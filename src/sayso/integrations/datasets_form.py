"""Conversion between Hugging Face `datasets` and sentences or facts, with sayso's or OpenNRE's fields."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sayso.errors import BadInputError, import_extra
from sayso.facts.fact import ExtractedFact
from sayso.readers import READERS, jsonl
from sayso.readers.base import BadLine
from sayso.records import Sentence

_FORMS = ("jsonl", "opennre", "crowdtruth")


def sentences_of(rows: Iterable[Mapping[str, Any]]) -> Iterator[Sentence]:
    """Yield one sentence per row of a dataset; the format is detected from its fields.

    Raises:
        BadInputError: A row cannot be read, or the fields match no known format.
    """
    lines = (json.dumps(_without_none(row), ensure_ascii=False) for row in rows)
    form = ""
    for number, line in enumerate(lines):
        form = form or next((name for name in _FORMS if READERS[name].recognises(line)), "")
        if not form:
            raise BadInputError("the dataset's fields match no known format: see docs/data-format.md")
        for _, item in READERS[form].read([(number, line)]):
            if isinstance(item, BadLine):
                raise BadInputError(f"row {number:,} of the dataset: {item.reason}")
            yield item


def sentences_dataset(sentences: Iterable[Sentence]) -> Any:
    """Return a `datasets.Dataset` with one row per sentence, with the fields of our JSON lines."""
    optional = {"document": None, "expresses": None}  # a dataset only has the fields of its first row
    return _dataset(optional | json.loads(jsonl.write(sentence)) for sentence in sentences)


def facts_dataset(facts: Iterable[ExtractedFact]) -> Any:
    """Return a `datasets.Dataset` with one row per extracted fact, with the fields of `facts.jsonl`."""
    return _dataset(fact.to_dict() for fact in facts)


def _dataset(rows: Iterable[dict[str, Any]]) -> Any:
    return import_extra("datasets", "a dataset", "datasets").Dataset.from_list(list(rows))


def _without_none(value: Any) -> Any:
    """Return a row without its None fields: in a dataset, every row has every field."""
    if isinstance(value, Mapping):
        return {key: _without_none(each) for key, each in value.items() if each is not None}
    return [_without_none(each) for each in value] if isinstance(value, list | tuple) else value
