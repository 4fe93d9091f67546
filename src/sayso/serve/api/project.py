"""The settings of the work: queue, guideline; and how far everybody is."""

from dataclasses import asdict, replace
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from sayso.annotate.guideline import MAX_LENGTH, read_guideline, write_guideline
from sayso.annotate.next_fact import Progress, progress
from sayso.annotate.pilot import PilotChange, PilotResult, pilot_result
from sayso.annotate.queue import QueueSettings, read_settings
from sayso.serve.api.forms import Body
from sayso.serve.deps import Bench, Lead, Who
from sayso.serve.project import change_queue

router = APIRouter(prefix="/api", tags=["project"])


class Guideline(Body):
    """What annotators are asked to do."""

    text: Annotated[str, Field(max_length=MAX_LENGTH)]


class WantedQueue(Body):
    """Settings of the queue that are to change; what is left out stays as it is."""

    annotators_per_fact: int | None = None
    relations: tuple[str, ...] | None = None
    order: str | None = None
    num_pilot: int | None = None


class ChangedQueue(BaseModel):
    """The settings of the queue that hold now, and what has changed about the pilot round, in counts, if anything."""

    annotators_per_fact: int
    relations: tuple[str, ...]
    order: str
    num_pilot: int
    pilot_change: PilotChange | None


class ProgressAnswer(BaseModel):
    """How many facts the queue holds, and how far everybody is."""

    num_facts: int
    people: list[Progress]


@router.get("/progress")
def get_progress(bench: Bench) -> ProgressAnswer:
    """Return how far everybody is."""
    with bench.database.reading() as connection:
        return ProgressAnswer(num_facts=len(bench.queue(read_settings(connection))), people=progress(connection))


@router.get("/pilot")
def get_pilot(bench: Bench, who: Who) -> PilotResult:
    """Return how one's pilot round went; the agreement once it is done."""
    with bench.database.reading() as connection:
        return pilot_result(connection, who, bench.has_fact)


@router.get("/queue")
def get_queue(bench: Bench) -> QueueSettings:
    """Return the settings of the queue."""
    with bench.database.reading() as connection:
        return read_settings(connection)


@router.put("/queue")
def put_queue(
    bench: Bench,
    who: Lead,
    wanted: WantedQueue,
    dry_run: Annotated[bool, Query(description="Say what would change, and change nothing.")] = False,
) -> ChangedQueue:
    """Change the settings of the queue; only leads may. Return what holds now.

    There may be fewer known answers than wanted. Facts that somebody was given keep their number of annotators, and
    finished work counts as before.
    """
    with bench.database.reading() as connection:
        settings = replace(read_settings(connection), **wanted.model_dump(exclude_none=True))
    changed = change_queue(bench, who, settings, is_trial=dry_run)
    return ChangedQueue(**asdict(changed.settings), pilot_change=changed.pilot)


@router.get("/guideline")
def get_guideline(bench: Bench) -> Guideline:
    """Return the guideline."""
    with bench.database.reading() as connection:
        return Guideline(text=read_guideline(connection))


@router.put("/guideline")
def put_guideline(bench: Bench, _: Lead, given: Guideline) -> Guideline:
    """Change the guideline; only leads may. An empty text brings the usual one back."""
    with bench.database.writing() as connection:
        write_guideline(connection, given.text)
        return Guideline(text=read_guideline(connection))
