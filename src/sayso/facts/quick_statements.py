"""Facts as QuickStatements, lines that add statements to Wikidata or another Wikibase.

A line has item, property and item, separated by tabs, and a reference: the text of a quote, and the URL of its document
if it has one. A second line for the same fact adds a second reference. Only facts with Wikidata ids can be written; a
table can map other ids to them.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from sayso.errors import BadInputError
from sayso.facts.fact import DecidedFact, Quote, QuotedFact
from sayso.input_file import holds_no
from sayso.readers.base import BadLine
from sayso.readers.files import read_lines
from sayso.tokens import control_character

MAX_REFERENCES = 3
REFERENCE_URL, QUOTATION = "S854", "S1683"
_MAX_QUOTATION = 400
"""Maximum number of characters that Wikidata allows in this property."""
_BREAKING = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]|\|(?=\|)")
_ID = re.compile(r"(?:https?://www\.wikidata\.org/(?:entity|wiki|prop/direct)/)?(?:Property:)?([QP][1-9][0-9]*)")


def quick_statements(fact: QuotedFact, ids: Mapping[str, str] | None = None) -> str:
    """Return the fact's lines, one for each of its first quotes; empty if an id is not a Wikidata id.

    `ids` maps other ids to Wikidata ids.
    """
    head, relation, tail = (wikidata_id(name, ids or {}) for name in fact.triple)
    if not (head.startswith("Q") and relation.startswith("P") and tail.startswith("Q")):
        return ""
    model = re.sub(r"[^\w.-]", "", fact.model_fingerprint)  # must not end the comment
    comment = f"/* sayso, model {model}: probability {fact.probability:.3f} */"
    references = [tuple(_reference(each)) for each in fact.quotes[:MAX_REFERENCES]] or [()]
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
    ids = {}
    for number, text in read_lines(path):
        if isinstance(text, BadLine):
            raise BadInputError(f"{path}:{number}: {text.reason}")
        columns = [column.strip() for column in text.split("\t")]
        if columns == [""]:
            continue
        if len(columns) != 2 or not _ID.fullmatch(columns[1]):
            raise BadInputError(f"{path}:{number}: expected an id and a Wikidata id (Q… or P…), separated by a tab")
        ids[columns[0]] = columns[1]
    if not ids:
        raise holds_no(path, "ids")
    return ids


def _reference(each: Quote) -> Iterator[str]:
    url = each.source.document_id if each.source else ""
    if re.fullmatch(r"https?://[^\s\"|]+", url) and not control_character(url):
        yield from (REFERENCE_URL, f'"{url}"')
    # The format cannot escape a quotation mark, a tab or a line end; `||` is a line end for some tools.
    words = " ".join(_BREAKING.sub(" ", each.sentence.replace('"', "'")).split())
    shown = words if len(words) <= _MAX_QUOTATION else f"{words[: _MAX_QUOTATION - 1]}…"
    yield from (QUOTATION, f'und:"{shown}"')
