"""Try a model on your own sentences; page and JSON API."""

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Query
from pydantic import BaseModel, Field, ValidationError
from starlette.responses import Response

from sayso.errors import UserError
from sayso.records import Sentence
from sayso.serve.access import Bench, annotator
from sayso.serve.fact_view import ExplanationResponse, view_fact
from sayso.serve.faults import fault_text
from sayso.serve.responses import Render, RequestError, not_found
from sayso.serve.try_it.process import WorkerError
from sayso.serve.try_it.worker import MAX_SENTENCES, MAX_TOGETHER, Question
from sayso.serve.workbench import Workbench
from sayso.tokens import tokenise

api = APIRouter(prefix="/api/try", tags=["try"])


class ScoredRelation(BaseModel):
    """A relation and its probability."""

    relation: str
    probability: float


class TryResponse(BaseModel):
    """The most probable relations, explanations of some of them, and warnings."""

    variant: str
    probabilities: list[ScoredRelation]
    explanations: list[ExplanationResponse]
    warnings: list[str]


@api.post("/{run}")
def post_question(bench: Bench, run: str, asked: Question) -> TryResponse:
    """Run a model on the pasted sentences; the first request starts its process, which takes a few seconds."""
    return TryResponse.model_validate(ask(bench, run, asked))


def ask(bench: Workbench, run: str, asked: Question) -> dict[str, Any]:
    """Return the model's answer; raise `RequestError` if the process fails, `UserError` if the question is invalid."""
    worker = bench.workers.get(run)
    if worker is None:
        raise not_found(f"Run {run!r} not found.")
    try:
        return worker.ask(asked.model_dump())
    except WorkerError as error:
        raise RequestError(HTTPStatus.SERVICE_UNAVAILABLE, f"{error}.") from error


pages = APIRouter(include_in_schema=False, dependencies=[Depends(annotator)])

_EXAMPLE = {
    "sentences": "Windhoek is the capital of Namibia.\nHe flew from Namibia's coast to Windhoek.",
    "heads": "Namibia",
    "tails": "Windhoek",
    "head_type": "/location/country",
    "tail_type": "/location/city",
}
"""The initial content of the form."""
_TITLES = {"heads": "Names of the head", "tails": "Names of the tail", "sentences": "Sentences"}
"""What the form calls its fields."""


class TryForm(BaseModel):
    """The fields of the form; names and sentences one per line."""

    run: Annotated[str, Field(max_length=300)] = ""
    sentences: Annotated[str, Field(max_length=MAX_TOGETHER + MAX_SENTENCES)] = ""
    heads: Annotated[str, Field(max_length=2_000)] = ""
    tails: Annotated[str, Field(max_length=2_000)] = ""
    head_type: Annotated[str, Field(max_length=200)] = ""
    tail_type: Annotated[str, Field(max_length=200)] = ""
    relation: Annotated[str, Field(max_length=500)] = ""

    @property
    def question(self) -> Question:
        """The question to the model."""
        return Question(
            sentences=_lines(self.sentences),
            heads=_lines(self.heads),
            tails=_lines(self.tails),
            head_type=self.head_type.strip(),
            tail_type=self.tail_type.strip(),
            relation=self.relation,
        )


@pages.get("/try")
def try_page(
    render: Render,
    bench: Bench,
    run: Annotated[str, Query(max_length=300)] = "",
    bag: Annotated[int | None, Query(ge=0)] = None,
    relation: Annotated[str, Query(max_length=500)] = "",
) -> Response:
    """Show the form with an example or with the sentences of a bag."""
    filled = _EXAMPLE if bag is None else _of_bag(bench, bag)
    return _page(render, {**filled, "run": run, "relation": relation})


@pages.post("/try")
def try_form(render: Render, bench: Bench, given: Annotated[TryForm, Form()]) -> Response:
    """Run the model, and show the result below the form."""
    filled = given.model_dump()
    try:
        answer = ask(bench, given.run, given.question)
    except ValidationError as error:
        problem = fault_text(error.errors()[0], _TITLES)
        return _page(render, filled, problem=problem, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    except UserError as error:
        return _page(render, filled, problem=str(error), status=HTTPStatus.UNPROCESSABLE_ENTITY)
    except RequestError as error:
        return _page(render, filled, problem=error.body.message, status=error.body.status)
    shown = [(each, view_fact(each)) for each in answer["explanations"]]
    return _page(render, filled, answer=answer, shown=shown)


def _page(render: Render, filled: dict[str, str], **context: Any) -> Response:
    """Render the page: the form, with an error or the result below it."""
    usual: dict[str, Any] = {"problem": "", "answer": None, "shown": [], "max_sentences": MAX_SENTENCES}
    return render("try/try.html", filled=filled, **(usual | context))


def _of_bag(bench: Workbench, number: int) -> dict[str, str]:
    """Return the form fields for a bag of the part."""
    if number >= bench.table.num_bags:
        raise not_found("Bag not found in the store.")
    bag, kinds = bench.bag(number), bench.store.entities["type"]
    first = bag.sentences[0]
    return {
        "sentences": "\n".join(map(_to_try, bag.sentences[:MAX_SENTENCES])),
        "heads": first.head.name,
        "tails": first.tail.name,
        "head_type": bench.store.types[kinds[int(bench.table.head_B[number])].as_py()],
        "tail_type": bench.store.types[kinds[int(bench.table.tail_B[number])].as_py()],
    }


def _to_try(sentence: Sentence) -> str:
    """Return the sentence as written in its document if that gives the same tokens; otherwise the tokens."""
    return sentence.written if tuple(tokenise(sentence.written)) == sentence.tokens else sentence.text


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]
