"""File formats for exporting decided facts: contents, file name and writer of each."""

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from sayso.facts.fact import DecidedFact, Decision, QuotedFact
from sayso.facts.quick_statements import quick_statements
from sayso.facts.web_annotation import web_annotations
from sayso.tokens import control_character

FormName = Literal["jsonld", "csv", "triples", "quickstatements", "decisions"]

FACT_COLUMNS = (
    *("head_id", "head_name", "relation", "tail_id", "tail_name", "decision", "reason", "annotator", "decided_at"),
    *("probability", "is_label", "run", "variant", "model_fingerprint", "data_fingerprint", "mechanism"),
)
QUOTE_COLUMNS = ("rank", "score", "mark", "prefix", "quote", "suffix", "document", "start", "stop")
"""`start` and `stop` are the character offsets of the whole sentence in the document."""

_EQUALS = ("=", "＝")
_ACTIVE = (*_EQUALS, "+", "-", "@", "＋", "－", "＠", "\t", "\n", "\r", "'")
_ESCAPED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\\(?=x[0-9a-f]{2})")
"""Control characters other than tab and line ends, and backslashes that would look like the start of an escape."""
_ESCAPE = re.compile(r"\\x([0-9a-f]{2})")


class FileForm(NamedTuple):
    """A file format for facts with one of these `decisions`; `can_hold` is true of a fact that it can represent."""

    file_name: str
    media_type: str
    decisions: tuple[Decision, ...]
    write: Callable[[Sequence[DecidedFact]], str]
    about: str
    can_hold: Callable[[DecidedFact], object] = lambda _: True

    def keep(self, facts: Sequence[DecidedFact]) -> tuple[list[DecidedFact], int]:
        """Return the facts to write, and how many are left out because the format cannot represent them."""
        wanted = [fact for fact in facts if fact.decision in self.decisions]
        kept = [fact for fact in wanted if self.can_hold(fact)]
        return kept, len(wanted) - len(kept)


def triple_line(fact: QuotedFact) -> str:
    """Return head, relation and tail as a tab-separated line; empty if one contains a control character."""
    # A tab or line end in an id would turn the line into a different fact.
    return "" if control_character(*fact.triple) else "\t".join(fact.triple) + "\n"


def csv_table(facts: Sequence[DecidedFact]) -> str:
    """Return the facts as CSV with a header: one row per quote, and one for a fact without quotes."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow((*FACT_COLUMNS, *QUOTE_COLUMNS))
    for fact in facts:
        about = [getattr(fact, name) for name in FACT_COLUMNS]
        for each in fact.quotes or [None]:
            cells = [each.rank, each.score, each.mark, each.prefix, each.exact, each.suffix] if each else [""] * 6
            place = each.source[:3] if each and each.source else [""] * 3
            writer.writerow(map(shielded, (*about, *cells, *place)))
    return file.getvalue()


def shielded(cell: object) -> object:
    """Make a cell safe for spreadsheets: an apostrophe before formulas, control characters as escapes (`\\x1b`).

    >>> shielded("=1+1"), shielded("it's"), shielded(-0.5)
    ("'=1+1", "it's", -0.5)
    """
    if not isinstance(cell, str):
        return cell
    is_active = cell.startswith(_ACTIVE) or cell.lstrip().startswith(_EQUALS)
    text = _ESCAPED.sub(lambda found: f"\\x{ord(found[0]):02x}", cell)
    return f"'{text}" if is_active else text


def bare(cell: str) -> str:
    """Return the original text of a cell returned by `shielded`.

    >>> bare(str(shielded("=1+1"))), bare(str(shielded("'quoted"))), bare("it's")
    ('=1+1', "'quoted", "it's")
    """
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), cell.removeprefix("'"))


def decision_lines(facts: Sequence[DecidedFact]) -> str:
    """Return one line of JSON per fact with only the decision, as read by `sayso prepare --decisions`."""
    lines = []
    for fact in facts:
        record = {"head": fact.head_id, "tail": fact.tail_id, "relation": fact.relation, "decision": fact.decision}
        about = {"by": fact.annotator, "at": fact.decided_at, "reason": fact.reason}
        record |= {name: value for name, value in about.items() if value}
        lines.append(json.dumps(record, ensure_ascii=False) + "\n")
    return "".join(lines)


FORMS: dict[FormName, FileForm] = {
    "jsonld": FileForm(
        "accepted.jsonld",
        'application/ld+json; profile="http://www.w3.org/ns/anno.jsonld"',
        ("accepted",),
        web_annotations,
        "accepted facts with their quotes, as W3C Web Annotations",
    ),
    "csv": FileForm(
        "accepted.csv", "text/csv; charset=utf-8", ("accepted",), csv_table, "accepted facts, one row per quote"
    ),
    "triples": FileForm(
        "accepted.tsv",
        "text/tab-separated-values; charset=utf-8",
        ("accepted",),
        lambda facts: "".join(map(triple_line, facts)),
        "accepted facts as head, relation and tail, ready for import into a knowledge base;"
        " facts with control characters in an id are left out",
        triple_line,
    ),
    "quickstatements": FileForm(
        "accepted.quickstatements.tsv",
        "text/tab-separated-values; charset=utf-8",
        ("accepted",),
        lambda facts: "".join(map(quick_statements, facts)),
        "accepted facts with their quotes, as QuickStatements; facts without Wikidata ids are left out",
        quick_statements,
    ),
    "decisions": FileForm(
        "decisions.jsonl",
        "application/x-ndjson",
        ("accepted", "rejected"),
        decision_lines,
        "accepted and rejected facts without quotes, one JSON object per line",
    ),
}
