"""The settings of the work: queue, guideline; and how far everybody is."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field

from sayso.annotate.guideline import MAX_LENGTH, read_guideline, write_guideline
from sayso.annotate.pilot import PilotResult, pilot_result
from sayso.annotate.queue import QueueSettings, read_settings
from sayso.annotate.turn import Progress, progress
from sayso.serve.deps import Bench, Who
from sayso.serve.project import change_queue

router = APIRouter(prefix="/api", tags=["project"])


class Guideline(BaseModel):
    """What annotators are asked to do."""

    text: Annotated[str, Field(max_length=MAX_LENGTH)]


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
def put_queue(bench: Bench, who: Who, settings: QueueSettings) -> QueueSettings:
    """Change the settings of the queue; return what holds now (there may be fewer known answers than wanted)."""
    return change_queue(bench, who, settings)


@router.get("/guideline")
def get_guideline(bench: Bench) -> Guideline:
    """Return the guideline."""
    with bench.database.reading() as connection:
        return Guideline(text=read_guideline(connection))


@router.put("/guideline")
def put_guideline(bench: Bench, _: Who, given: Guideline) -> Guideline:
    """Change the guideline; an empty text brings the usual one back."""
    with bench.database.writing() as connection:
        write_guideline(connection, given.text)
        return Guideline(text=read_guideline(connection))
