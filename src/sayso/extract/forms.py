"""File formats for extracted facts, written one fact at a time."""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from sayso.facts.export import quick_statements, triple_line
from sayso.facts.fact import ExtractedFact
from sayso.facts.file import FACTS_FILE
from sayso.facts.web_annotation import extracted_annotations
from sayso.io.atomic import atomic_file

_ROWS_AT_A_TIME = 10_000


class ExportContext(NamedTuple):
    """Data that formats may need besides the facts: their number, what identifies the collection, and Wikidata ids."""

    total: int
    identity: str
    ids: Mapping[str, str]


class ExtractForm(NamedTuple):
    """A file format; `write` returns how many facts it cannot represent."""

    file_name: str
    write: Callable[[Path, Iterable[ExtractedFact], ExportContext], int]


def _lines_form(file_name: str, lines_of: Callable[[ExtractedFact, ExportContext], str]) -> ExtractForm:
    """Return a format with one or more lines per fact; facts without lines from `lines_of` count as left out."""

    def write(path: Path, facts: Iterable[ExtractedFact], context: ExportContext) -> int:
        num_left_out = 0
        with atomic_file(path) as file:
            for fact in facts:
                lines = lines_of(fact, context)
                file.write(lines)
                num_left_out += not lines
        return num_left_out

    return ExtractForm(file_name, write)


def _write_jsonld(path: Path, facts: Iterable[ExtractedFact], context: ExportContext) -> int:
    with atomic_file(path) as file:
        file.writelines(extracted_annotations(facts, context.total, context.identity))
    return 0


def _write_parquet(path: Path, facts: Iterable[ExtractedFact], _: ExportContext) -> int:
    with atomic_file(path, "wb") as file, pq.ParquetWriter(file, SCHEMA) as writer:
        rows = (fact.to_dict() for fact in facts)
        while batch := list(islice(rows, _ROWS_AT_A_TIME)):
            writer.write_table(pa.Table.from_pylist(batch, schema=SCHEMA))
    return 0


_TEXT, _NUMBER, _COUNT = pa.string(), pa.float64(), pa.int32()
_DOCUMENT = pa.struct({"id": _TEXT, "start": pa.int64(), "stop": pa.int64()})
_SPANS = pa.list_(pa.list_(_COUNT))
_EVIDENCE = pa.struct(
    {
        "rank": _COUNT,
        **dict.fromkeys(("score", "alone"), _NUMBER),
        **dict.fromkeys(("prefix", "exact", "suffix"), _TEXT),
        **dict.fromkeys(("head", "tail"), _SPANS),
        "document": _DOCUMENT,
    }
)
_PROBABILITIES = ("probability_with", "probability_without", "probability_of_none")
_SUPPORT = pa.struct(
    {"kind": _TEXT, "num_smallest": _COUNT, **dict.fromkeys(_PROBABILITIES, _NUMBER), "num_enough": _COUNT}
)
SCHEMA = pa.schema(
    {
        **dict.fromkeys(("head", "head_name", "relation", "tail", "tail_name"), _TEXT),
        "probability": _NUMBER,
        "new_entities": pa.list_(_TEXT),
        "status": _TEXT,
        "contradicts": pa.list_(_TEXT),
        "text_probability": _NUMBER,
        "num_sentences": _COUNT,
        "support": _SUPPORT,
        "evidence": pa.list_(_EVIDENCE),
        **dict.fromkeys(("mechanism", "run", "variant", "model", "data"), _TEXT),
    }
)
"""The columns of the Parquet file: the fields of a JSON line."""

FORMS: dict[str, ExtractForm] = {
    "jsonl": _lines_form(FACTS_FILE, lambda fact, _: f"{fact.to_json()}\n"),
    "parquet": ExtractForm("facts.parquet", _write_parquet),
    "tsv": _lines_form("facts.tsv", lambda fact, _: triple_line(fact)),
    "jsonld": ExtractForm("facts.jsonld", _write_jsonld),
    "quickstatements": _lines_form(
        "facts.quickstatements.tsv", lambda fact, context: quick_statements(fact, context.ids)
    ),
}
