"""Asking a run's model about sentences, as JSON."""

from http import HTTPStatus
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from sayso.serve.deps import Bench
from sayso.serve.errors import RequestError, not_found
from sayso.serve.predictions.answers import ExplanationAnswer
from sayso.serve.state import Workbench
from sayso.serve.try_it.asked import Asked
from sayso.serve.try_it.process import WorkerError

router = APIRouter(prefix="/api/try", tags=["try"])


class ScoredRelation(BaseModel):
    """A relation and its probability."""

    relation: str
    probability: float


class TryAnswer(BaseModel):
    """The most probable relations, some of them explained, and what the model could not know."""

    variant: str
    probabilities: list[ScoredRelation]
    explanations: list[ExplanationAnswer]
    remarks: list[str]


@router.post("/{run}")
def post_question(bench: Bench, run: str, asked: Asked) -> TryAnswer:
    """Ask a run's model; the first question starts its process, which takes some seconds."""
    return TryAnswer.model_validate(ask(bench, run, asked))


def ask(bench: Workbench, run: str, asked: Asked) -> dict[str, Any]:
    """Return the answer of a run's model; a process that fails is a `RequestError`, a bad question a `UserError`."""
    worker = bench.workers.get(run)
    if worker is None:
        raise not_found(f"There is no run {run!r} here.")
    try:
        return worker.ask(asked.model_dump())
    except WorkerError as error:
        raise RequestError(HTTPStatus.SERVICE_UNAVAILABLE, f"{error}.") from error
