"""File formats for exporting facts: contents, file name and writer of each.

QuickStatements are lines that add statements to Wikidata or another Wikibase. A line has item, property and item,
separated by tabs, and a reference: the text of a quote, and the URL of its document if it has one. A second line for
the same fact adds a second reference. Only facts with Wikidata ids can be written; a table can map other ids to them.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sayso.facts.fact import DecidedFact, Decision, QuotedFact
from sayso.facts.quote import WRONG_ENTITY, DecidedQuote, Quote, quote_to_dict
from sayso.facts.web_annotation import web_annotations
from sayso.readers.base import BadLineError
from sayso.readers.files import parse_lines
from sayso.tokens import control_character

FormName = Literal["jsonld", "csv", "triples", "quickstatements", "decisions"]
QuoteFormName = Literal["quotes", "exceptions"]

FACT_COLUMNS = (
    *("head_id", "head_name", "relation", "tail_id", "tail_name", "decision", "reason", "annotator", "decided_at"),
    *("probability", "is_label", "run", "variant", "model_fingerprint", "data_fingerprint", "mechanism"),
    "new_entities",
)
QUOTE_COLUMNS = (
    *("rank", "score", "mark", "prefix", "quote", "suffix", "document", "start", "stop"),
    *("quote_decision", "quote_reason"),
)
"""`start` and `stop` are the character offsets of the whole sentence in the document."""

_EQUALS = ("=", "＝")
_ACTIVE = (*_EQUALS, "+", "-", "@", "＋", "－", "＠", "\t", "\n", "\r", "'")
_ESCAPED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\\(?=x[0-9a-f]{2})")
"""Control characters other than tabs and newlines, and backslashes that would look like the start of an escape."""
_ESCAPE = re.compile(r"\\x([0-9a-f]{2})")

MAX_REFERENCES = 3
REFERENCE_URL, QUOTATION = "S854", "S1683"
_MAX_QUOTATION = 400
"""Maximum number of characters that Wikidata allows in this property."""
_BREAKING = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]|\|(?=\|)")
_ID = re.compile(r"(?:https?://www\.wikidata\.org/(?:entity|wiki|prop/direct)/)?(?:Property:)?([QP][1-9][0-9]*)")


class FileForm(NamedTuple):
    """A file format for facts with one of these `decisions`; `can_hold` says whether it can represent a fact."""

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

    def why_empty(self, num_left_out: int) -> str:
        """Return why there is no fact to write, if `keep` returned none."""
        if not num_left_out:
            return f"no fact is {' or '.join(self.decisions)} yet"
        return f"{self.about}: this leaves out {'the only one' if num_left_out == 1 else f'all {num_left_out:,}'}"


def triple_line(fact: QuotedFact) -> str:
    """Return head, relation and tail as a tab-separated line; empty if one contains a control character."""
    # A tab or newline in an id would turn the line into a different fact.
    return "" if control_character(*fact.triple) else "\t".join(fact.triple) + "\n"


def csv_table(facts: Sequence[DecidedFact]) -> str:
    """Return the facts as CSV with a header: one row per quote, and one for a fact without quotes."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow((*FACT_COLUMNS, *QUOTE_COLUMNS))
    for fact in facts:
        about = [getattr(fact, name) for name in FACT_COLUMNS[:-1]] + [" ".join(fact.new_entities)]
        for each in fact.quotes or [None]:
            writer.writerow(map(shielded, (*about, *(_quote_cells(each) if each else [""] * len(QUOTE_COLUMNS)))))
    return file.getvalue()


def _quote_cells(each: Quote) -> list[object]:
    """Return the values of `QUOTE_COLUMNS`."""
    words = [each.rank, each.score, each.mark, each.prefix, each.exact, each.suffix]
    return [*words, *(each.source[:3] if each.source else [""] * 3), each.decision, each.reason]


def quote_table(decided: Sequence[DecidedQuote]) -> str:
    """Return the decisions on quotes as CSV with a header, one row each."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    about = ("head_id", "head_name", "relation", "tail_id", "tail_name", "annotator", "decided_at")
    writer.writerow((*about, *QUOTE_COLUMNS))
    for made in decided:
        quote = made.quote._replace(decision=made.decision, reason=made.reason)
        writer.writerow(map(shielded, (*(getattr(made, name) for name in about), *_quote_cells(quote))))
    return file.getvalue()


def exception_lines(decided: Sequence[DecidedQuote]) -> str:
    """Return the wrong entities as `sayso build --exceptions` reads them: document, start, stop and entity id.

    Quotes without a document are left out: without an offset, there is nothing to correct.
    """
    rows = (
        (*made.quote.source[:3], getattr(made, WRONG_ENTITY[made.reason]))
        for made in decided
        if made.decision == "rejected" and made.reason in WRONG_ENTITY and made.quote.source
    )
    return "".join("\t".join(map(str, row)) + "\n" for row in sorted(set(rows)))


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


def quick_statements(fact: QuotedFact, ids: Mapping[str, str] | None = None) -> str:
    """Return the fact's lines, one for each of its first quotes; empty if an id is not a Wikidata id.

    A rejected quote is no reference; the comment has the reason.
    `ids` maps other ids to Wikidata ids.
    """
    head, relation, tail = (wikidata_id(name, ids or {}) for name in fact.triple)
    if not (head.startswith("Q") and relation.startswith("P") and tail.startswith("Q")):
        return ""
    model = re.sub(r"[^\w.-]", "", fact.model_fingerprint)  # must not end the comment
    comment = f"/* sayso, model {model}: probability {fact.probability:.3f} */"
    rejected = [each.reason or "no reason" for each in fact.quotes if each.is_rejected]
    if rejected:
        reasons = re.sub(r"[^\w ,;()-]", "", "; ".join(rejected))  # must not end the comment
        comment = comment.replace(" */", f", rejected quotes: {reasons} */")
    kept = [each for each in fact.quotes if not each.is_rejected]
    references = [tuple(_reference(each)) for each in kept[:MAX_REFERENCES]] or [()]
    return "".join("\t".join((head, relation, tail, *reference, comment)) + "\n" for reference in references)


def wikidata_id(name: str, ids: Mapping[str, str]) -> str:
    """Return the Wikidata id of a name: the name itself, its entry in the table, or the end of a URL; else empty.

    >>> wikidata_id("http://www.wikidata.org/entity/Q3935", {}), wikidata_id("capital", {"capital": "P36"})
    ('Q3935', 'P36')
    """
    found = _ID.fullmatch(ids.get(name, name))
    return found[1] if found else ""


def in_wikidata(fact: DecidedFact, ids: Mapping[str, str]) -> DecidedFact:
    """Return the fact with its ids replaced by Wikidata ids, if the table has them."""
    head_id, relation, tail_id = (ids.get(name, name) for name in fact.triple)
    return replace(fact, head_id=head_id, relation=relation, tail_id=tail_id)


def read_ids(path: Path) -> dict[str, str]:
    """Read a table that maps other ids to Wikidata ids: two tab-separated columns."""
    return dict(entry for _, entry in parse_lines(path, "ids", _entry))


def _entry(text: str) -> tuple[str, str]:
    columns = [column.strip() for column in text.split("\t")]
    if len(columns) != 2 or not _ID.fullmatch(columns[1]):
        raise BadLineError("expected an id and a Wikidata id (Q… or P…), separated by a tab")
    return columns[0], columns[1]


def _reference(each: Quote) -> Iterator[str]:
    url = each.source.document_id if each.source else ""
    if re.fullmatch(r"https?://[^\s\"|]+", url) and not control_character(url):
        yield from (REFERENCE_URL, f'"{url}"')
    # The format cannot escape a quotation mark, a tab or a newline; some tools read `||` as a newline.
    words = " ".join(_BREAKING.sub(" ", each.sentence.replace('"', "'")).split())
    shown = words if len(words) <= _MAX_QUOTATION else f"{words[: _MAX_QUOTATION - 1]}…"
    yield from (QUOTATION, f'und:"{shown}"')


def decision_lines(facts: Sequence[DecidedFact]) -> str:
    """Return one line of JSON per fact with only the decision, as read by `sayso prepare --decisions`."""
    lines = []
    for fact in facts:
        record: dict[str, Any] = {
            "head": fact.head_id,
            "tail": fact.tail_id,
            "relation": fact.relation,
            "head_name": fact.head_name,
            "tail_name": fact.tail_name,
            "decision": fact.decision,
        }
        about = {"by": fact.annotator, "at": fact.decided_at, "reason": fact.reason, "new_entities": fact.new_entities}
        record |= {name: value for name, value in about.items() if value}
        if on_quotes := [_decision_on(each) for each in fact.quotes if each.decision]:
            record["quotes"] = on_quotes
        lines.append(json.dumps(record, ensure_ascii=False) + "\n")
    return "".join(lines)


def _decision_on(each: Quote) -> dict[str, Any]:
    about = {"reason": each.reason, "sentence": each.sentence, "document": quote_to_dict(each)["document"]}
    return {"decision": each.decision, **{name: value for name, value in about.items() if value}}


class QuoteForm(NamedTuple):
    """A file format for decisions on quotes, also those on facts without a decision."""

    file_name: str
    media_type: str
    write: Callable[[Sequence[DecidedQuote]], str]
    about: str
    why_empty: str

    def text(self, decided: Sequence[DecidedQuote]) -> str:
        """Return the contents of the file; empty if there is nothing to write."""
        return self.write(decided) if decided else ""


QUOTE_FORMS: dict[QuoteFormName, QuoteForm] = {
    "quotes": QuoteForm(
        "quotes.csv",
        "text/csv; charset=utf-8",
        quote_table,
        "decisions on sentences with their reasons, one per row",
        "no decisions on sentences yet",
    ),
    "exceptions": QuoteForm(
        "exceptions.tsv",
        "text/tab-separated-values; charset=utf-8",
        exception_lines,
        "wrong entities as document, start, stop and entity, for `sayso build --exceptions`",
        "no sentence of a document is rejected for a wrong entity yet",
    ),
}
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
        "accepted and rejected facts with the decisions on their quotes, one JSON object per line",
    ),
}
