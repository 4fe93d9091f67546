"""What a request about an extraction names: the file, a fact of it, the facts that somebody wants to see."""

from typing import Annotated
from urllib.parse import quote, urlencode

from fastapi import Depends, Query

from sayso.records import Triple
from sayso.serve.deps import Bench
from sayso.serve.errors import not_found
from sayso.serve.review.file import FoundFile
from sayso.serve.review.query import FoundQuery

MAX_ID = 2_000
"""Characters; an id may be a web address."""

_Id = Annotated[str, Query(max_length=MAX_ID)]


def find_file(facts: str, bench: Bench) -> FoundFile:
    """Return the facts of this name, which know what was decided up to now."""
    found = bench.found.get(facts)
    if found is None:
        raise not_found(f"There are no facts {facts!r} here.")
    with bench.database.reading() as connection:
        found.index.decided.follow(connection)
    return found


def asked_fact(head: _Id, relation: Annotated[str, Query(max_length=500)], tail: _Id) -> Triple:
    """Return the fact that the address names by its ids."""
    return Triple(head, relation, tail)


def find_found(file: FoundFile, asked: Triple) -> int:
    """Return the row of the fact."""
    row = file.index.decided.find(asked)
    if row is None:
        raise not_found(f"{file.name} does not have this fact.")
    return row


def within_found(within: Annotated[str, Query(max_length=2_000)] = "") -> FoundQuery:
    """Return the facts among which one is looked at."""
    return FoundQuery.within(within)


def found_address(facts: str, fact: Triple, within: str = "") -> str:
    """Return where a fact of an extraction is shown."""
    values = {"head": fact.head_id, "relation": fact.relation, "tail": fact.tail_id}
    return f"/found/{quote(facts, safe='')}/fact?{urlencode(values | ({'within': within} if within else {}))}"


AskedFile = Annotated[FoundFile, Depends(find_file)]
AskedFound = Annotated[Triple, Depends(asked_fact)]
WantedFound = Annotated[FoundQuery, Query()]
WithinFound = Annotated[FoundQuery, Depends(within_found)]
