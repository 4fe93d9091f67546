"""The forms in which decided facts go out: what each holds, how its file is called, and what writes it."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from sayso.facts.decided import DecidedFact, Decision
from sayso.facts.decision_lines import decision_lines
from sayso.facts.extracted import FoundFact
from sayso.facts.quick_statements import quick_statements
from sayso.facts.table import csv_table
from sayso.facts.web_annotation import web_annotations
from sayso.tokens import control_character

FormName = Literal["jsonld", "csv", "triples", "quickstatements", "decisions"]


class FileForm(NamedTuple):
    """A form of file; `decisions` are those of the facts that it holds, as far as it `can_hold` them."""

    file_name: str
    media_type: str
    decisions: tuple[Decision, ...]
    write: Callable[[Sequence[DecidedFact]], str]
    about: str
    can_hold: Callable[[DecidedFact], bool] = lambda _: True

    def keep(self, facts: Sequence[DecidedFact]) -> tuple[list[DecidedFact], int]:
        """Return the facts that the form holds, and how many more were decided so but do not fit into it."""
        wanted = [fact for fact in facts if fact.decision in self.decisions]
        kept = [fact for fact in wanted if self.can_hold(fact)]
        return kept, len(wanted) - len(kept)


def triple_line(fact: DecidedFact | FoundFact) -> str:
    """Return head, relation and tail with tabs between and a line end; nothing where one has a control character."""
    columns = fact.head_id, fact.relation, fact.tail_id
    # An id with a tab or a line end in it would make another fact of the line.
    return "" if control_character(*columns) else "\t".join(columns) + "\n"


def _triples(facts: Sequence[DecidedFact]) -> str:
    return "".join(map(triple_line, facts))


def _quick_statements(facts: Sequence[DecidedFact]) -> str:
    return "".join(f"{line}\n" for fact in facts for line in quick_statements(fact))


FORMS: dict[FormName, FileForm] = {
    "jsonld": FileForm(
        "accepted.jsonld",
        'application/ld+json; profile="http://www.w3.org/ns/anno.jsonld"',
        ("accepted",),
        web_annotations,
        "accepted facts with their quotes, as W3C Web Annotations",
    ),
    "csv": FileForm(
        "accepted.csv", "text/csv; charset=utf-8", ("accepted",), csv_table, "accepted facts, a row for every quote"
    ),
    "triples": FileForm(
        "accepted.tsv",
        "text/tab-separated-values; charset=utf-8",
        ("accepted",),
        _triples,
        "accepted facts as head, relation and tail, which a knowledge base takes in;"
        " those with control characters in an id are left out",
        lambda fact: bool(triple_line(fact)),
    ),
    "quickstatements": FileForm(
        "accepted.quickstatements.tsv",
        "text/tab-separated-values; charset=utf-8",
        ("accepted",),
        _quick_statements,
        "accepted facts with their quotes, as lines for Wikidata; those with other ids are left out",
        lambda fact: bool(quick_statements(fact)),
    ),
    "decisions": FileForm(
        "decisions.jsonl",
        "application/x-ndjson",
        ("accepted", "rejected"),
        decision_lines,
        "accepted and rejected facts, a line of JSON each, without quotes",
    ),
}
