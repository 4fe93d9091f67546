"""Find the run and the fact in a request, and hide what would influence an annotator.

Annotators see neither model scores nor other people's marks on facts they have yet to submit. If nobody is signed in,
which is possible only on this machine, everything is shown.
"""

from collections.abc import Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated, NamedTuple

from fastapi import Depends, Query

from sayso.annotate.assignment import withheld_facts
from sayso.annotate.marking import work_of
from sayso.annotate.people import Annotator
from sayso.records import Triple
from sayso.serve.access import Bench
from sayso.serve.predictions.run import RunPredictions
from sayso.serve.predictions.table import PredictionQuery, PredictionRow
from sayso.serve.responses import RequestError, not_found
from sayso.serve.workbench import FactName, Workbench


def find_run(run: str, bench: Bench) -> RunPredictions:
    """Return the run with this name; raise if its predictions have changed and cannot be reread."""
    found = bench.run(run)
    if found is None:
        raise not_found(f"Run {run!r} not found.")
    if found.problem is not None:
        raise found.problem
    return found.current


def find_fact(run: RunPredictions, asked: FactName) -> int:
    """Return the index of the fact; not found (404) if the run does not have it."""
    row = run.index.find(asked.bag, asked.relation)
    if row is None:
        raise not_found(f"Fact not found in {run.name}: it is neither a label nor predicted.")
    return row


RunParam = Annotated[RunPredictions, Depends(find_run)]
QueryParam = Annotated[PredictionQuery, Query()]
WithinParam = Annotated[PredictionQuery, Depends(PredictionQuery.within)]


WITHHELD = "You have yet to annotate this fact. Model scores and other people's marks are shown after you submit it."


class Visibility(NamedTuple):
    """Whether a fact is withheld from someone, and whether they see annotators' marks on it."""

    is_withheld: bool
    with_marks: bool


def visibility_of(bench: Workbench, who: Annotator | None, asked: FactName) -> Visibility:
    """Return what someone may see of a fact."""
    if who is None:
        return Visibility(is_withheld=False, with_marks=True)
    fact = bench.fact(asked).fact
    with bench.database.reading() as connection:
        is_withheld = fact in withheld_facts(connection, who, bench.has_fact)
        return Visibility(is_withheld, with_marks=work_of(connection, who.id, fact).is_submitted and not is_withheld)


def marks_visible(bench: Workbench, who: Annotator | None, asked: FactName) -> bool:
    """Return whether someone may see annotators' marks on a fact; raise if the fact is withheld from them."""
    visibility = visibility_of(bench, who, asked)
    if visibility.is_withheld:
        raise RequestError(HTTPStatus.FORBIDDEN, WITHHELD, (f"annotate it: /annotate/fact?{asked.url_query}",))
    return visibility.with_marks


def hide_withheld(bench: Workbench, who: Annotator | None, rows: Sequence[PredictionRow]) -> list[PredictionRow]:
    """Return the rows, without metrics and support if the fact is withheld from the annotator."""
    withheld = withheld_from(bench, who)
    return [_hide(row) if row.triple in withheld else row for row in rows]


def withheld_from(bench: Workbench, who: Annotator | None) -> set[Triple]:
    """Return the facts that are withheld from someone."""
    if who is None:
        return set()
    with bench.database.reading() as connection:
        return withheld_facts(connection, who, bench.has_fact)


def _hide(row: PredictionRow) -> PredictionRow:
    return replace(row, probability=None, support="", disagreement=None, faithfulness=None, is_withheld=True)
