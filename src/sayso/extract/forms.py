"""The forms in which extracted facts are written, one after the other, however many."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from sayso.facts.export import triple_line
from sayso.facts.fact import ExtractedFact
from sayso.facts.file import FACTS_FILE
from sayso.facts.quick_statements import quick_statements
from sayso.facts.web_annotation import found_annotations
from sayso.io.atomic import atomic_file

_ROWS_AT_A_TIME = 10_000


class Writing(NamedTuple):
    """What forms may want to know besides the facts: how many there are, what identifies them, Wikidata's ids."""

    total: int
    identity: str
    ids: Mapping[str, str]


class FactForm(NamedTuple):
    """A form of file; `write` returns how many facts it cannot hold."""

    file_name: str
    write: Callable[[Path, Iterable[ExtractedFact], Writing], int]
    about: str


def _write_jsonl(path: Path, facts: Iterable[ExtractedFact], _: Writing) -> int:
    with atomic_file(path) as file:
        file.writelines(f"{fact.to_json()}\n" for fact in facts)
    return 0


def _write_tsv(path: Path, facts: Iterable[ExtractedFact], _: Writing) -> int:
    num_left_out = 0
    with atomic_file(path) as file:
        for fact in facts:
            line = triple_line(fact)
            file.write(line)
            num_left_out += not line
    return num_left_out


def _write_jsonld(path: Path, facts: Iterable[ExtractedFact], about: Writing) -> int:
    with atomic_file(path) as file:
        file.writelines(found_annotations(facts, about.total, about.identity))
    return 0


def _write_quickstatements(path: Path, facts: Iterable[ExtractedFact], about: Writing) -> int:
    num_left_out = 0
    with atomic_file(path) as file:
        for fact in facts:
            lines = quick_statements(fact, about.ids)
            num_left_out += not lines
            file.writelines(f"{line}\n" for line in lines)
    return num_left_out


def _write_parquet(path: Path, facts: Iterable[ExtractedFact], _: Writing) -> int:
    with atomic_file(path, "wb") as file, pq.ParquetWriter(file, SCHEMA) as writer:
        for rows in _rows(facts):
            writer.write_table(pa.Table.from_pylist(rows, schema=SCHEMA))
    return 0


def _rows(facts: Iterable[ExtractedFact]) -> Iterator[list[dict[str, object]]]:
    rows: list[dict[str, object]] = []
    for fact in facts:
        rows.append(fact.to_dict())
        if len(rows) == _ROWS_AT_A_TIME:
            yield rows
            rows = []
    if rows:
        yield rows


_DOCUMENT = pa.struct([("id", pa.string()), ("start", pa.int64()), ("stop", pa.int64())])
_EVIDENCE = pa.struct(
    [
        ("rank", pa.int32()),
        ("score", pa.float64()),
        ("prefix", pa.string()),
        ("exact", pa.string()),
        ("suffix", pa.string()),
        ("document", _DOCUMENT),
    ]
)
_SUPPORT = pa.struct(
    [
        ("kind", pa.string()),
        ("num_smallest", pa.int32()),
        ("probability_with", pa.float64()),
        ("probability_without", pa.float64()),
        ("probability_of_none", pa.float64()),
        ("num_enough", pa.int32()),
    ]
)
SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("head", "head_name", "relation", "tail", "tail_name")),
        ("probability", pa.float64()),
        ("status", pa.string()),
        ("contradicts", pa.list_(pa.string())),
        ("num_sentences", pa.int32()),
        ("support", _SUPPORT),
        ("evidence", pa.list_(_EVIDENCE)),
        *((name, pa.string()) for name in ("mechanism", "run", "variant", "model", "data")),
    ]
)
"""The columns of the Parquet form: the fields of a JSON line."""

FORMS: dict[str, FactForm] = {
    "jsonl": FactForm(FACTS_FILE, _write_jsonl, "JSON lines with everything"),
    "parquet": FactForm("facts.parquet", _write_parquet, "the same as columns"),
    "tsv": FactForm("facts.tsv", _write_tsv, "head, relation and tail, as a knowledge base is read"),
    "jsonld": FactForm("facts.jsonld", _write_jsonld, "W3C Web Annotations"),
    "quickstatements": FactForm("facts.quickstatements.tsv", _write_quickstatements, "lines for Wikidata"),
}
