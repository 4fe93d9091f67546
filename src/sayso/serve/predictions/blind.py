"""What Explore keeps from somebody who is signed in: neither runs nor other people are to lead them.

Where nobody is signed in, on this machine, everything is shown.
"""

from collections.abc import Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import urlencode

from sayso.annotate.blind import withheld_facts
from sayso.annotate.fact_work import work_of
from sayso.annotate.people import Annotator
from sayso.records import Triple
from sayso.serve.bag_fact import find_bag_fact
from sayso.serve.errors import RequestError
from sayso.serve.predictions.deps import AskedFact
from sayso.serve.predictions.index import FactRow
from sayso.serve.state import Workbench

WITHHELD = "You are to annotate this fact: what runs and other people say about it is shown once you have submitted it."


class Sight(NamedTuple):
    """What somebody sees of a fact: nothing where it `is_withheld`, and people's marks or not."""

    is_withheld: bool
    with_marks: bool


def sight_of(bench: Workbench, who: Annotator | None, asked: AskedFact) -> Sight:
    """Return what somebody sees of a fact; a fact that is not there is a problem."""
    if who is None:
        return Sight(is_withheld=False, with_marks=True)
    fact = find_bag_fact(bench, *asked).fact
    with bench.database.reading() as connection:
        is_withheld = fact in withheld_facts(connection, who, bench.has_fact)
        return Sight(is_withheld, with_marks=work_of(connection, who.id, fact).is_submitted and not is_withheld)


def full_sight(bench: Workbench, who: Annotator | None, asked: AskedFact) -> bool:
    """Return whether somebody sees people's marks on a fact; one that is withheld from them is a problem."""
    sight = sight_of(bench, who, asked)
    if sight.is_withheld:
        raise RequestError(HTTPStatus.FORBIDDEN, WITHHELD, (f"annotate it: {annotate_address(asked)}",))
    return sight.with_marks


def veiled(bench: Workbench, who: Annotator | None, rows: Sequence[FactRow]) -> list[FactRow]:
    """Return lines of the table without figures and support where the fact is withheld from somebody."""
    if who is None:
        return list(rows)
    with bench.database.reading() as connection:
        withheld = withheld_facts(connection, who, bench.has_fact)
    return [_veil(row) if Triple(row.head_id, row.relation, row.tail_id) in withheld else row for row in rows]


def _veil(row: FactRow) -> FactRow:
    return replace(row, probability=None, support="", disagreement=None, faithfulness=None, is_withheld=True)


def annotate_address(asked: AskedFact) -> str:
    """Return where the sentences of a fact are marked."""
    return f"/annotate/fact?{urlencode(asked._asdict())}"
