"""What a request about facts names: a run, a fact of it, the facts that somebody wants to see."""

from typing import Annotated, NamedTuple
from urllib.parse import quote, urlencode

from fastapi import Depends, Query

from sayso.serve.deps import Bench
from sayso.serve.errors import not_found
from sayso.serve.predictions.query import FactQuery
from sayso.serve.predictions.run import ExploredRun


class AskedFact(NamedTuple):
    """A fact by its address: the bag's number in the part, and the relation's name."""

    bag: int
    relation: str


def find_run(run: str, bench: Bench) -> ExploredRun:
    """Return the run of this name; one whose predictions have changed and cannot be read again is a problem."""
    found = bench.run(run)
    if found is None:
        raise not_found(f"There is no run {run!r} here.")
    if found.problem is not None:
        raise found.problem
    return found.explored


def asked_fact(
    bag: Annotated[int, Query(ge=0, le=2**53)], relation: Annotated[str, Query(max_length=500)]
) -> AskedFact:
    """Return the fact that the address names."""
    return AskedFact(bag, relation)


def find_fact(run: ExploredRun, asked: AskedFact) -> int:
    """Return the row of the fact."""
    row = run.index.find(*asked)
    if row is None:
        raise not_found(f"{run.name} has not written this fact down: it is neither a label nor predicted.")
    return row


def within_query(within: Annotated[str, Query(max_length=2_000)] = "") -> FactQuery:
    """Return the facts among which one is looked at: a query in one value, because a fact has a relation as well."""
    return FactQuery.within(within)


def fact_address(run: str, bag: int, relation: str, **more: object) -> str:
    """Return where a fact is shown; values of `more` that say nothing are left out."""
    values = {"bag": bag, "relation": relation, **{name: value for name, value in more.items() if value}}
    return f"/facts/{quote(run, safe='')}/fact?{urlencode(values)}"


AskedRun = Annotated[ExploredRun, Depends(find_run)]
Asked = Annotated[AskedFact, Depends(asked_fact)]
Wanted = Annotated[FactQuery, Query()]
Within = Annotated[FactQuery, Depends(within_query)]
