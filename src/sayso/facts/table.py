"""Decided facts as CSV: a row for every quote, and one for a fact that has none.

An apostrophe stands before text that a spreadsheet would take for a formula.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import fields

from sayso.facts.decided import DecidedFact, FactDecision, Quote
from sayso.facts.spreadsheet_cell import shielded

FACT_COLUMNS = tuple(field.name for field in fields(FactDecision))
QUOTE_COLUMNS = ("rank", "score", "mark", "prefix", "quote", "suffix", "document", "start", "stop")
"""Of a quote; `start` and `stop` are the characters of the document that the whole sentence covers."""


def csv_table(facts: Sequence[DecidedFact]) -> str:
    """Return the facts as CSV with a heading."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow((*FACT_COLUMNS, *QUOTE_COLUMNS))
    for fact in facts:
        about = [getattr(fact, name) for name in FACT_COLUMNS]
        writer.writerows(map(shielded, (*about, *cells)) for cells in _quote_rows(fact.quotes))
    return file.getvalue()


def _quote_rows(quotes: Sequence[Quote]) -> Iterator[list[object]]:
    if not quotes:
        yield [""] * len(QUOTE_COLUMNS)
    for each in quotes:
        place = each.source[:3] if each.source else ("", "", "")
        yield [each.rank, each.score, each.mark, each.prefix, each.exact, each.suffix, *place]
