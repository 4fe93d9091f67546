"""The annotation API: mark, submit, undo and move on; annotators see only their own marks."""

from collections.abc import Callable, Mapping
from http import HTTPStatus

from fastapi import APIRouter

from sayso.annotate import marking as work
from sayso.annotate.assignment import hold, keep_place, neighbour, next_fact
from sayso.annotate.people import Annotator
from sayso.annotate.pilot import pilot_facts, pilot_result
from sayso.annotate.queue import read_settings
from sayso.annotate.store import Connection
from sayso.records import Triple
from sayso.serve.access import Bench, Who
from sayso.serve.annotate import schemas
from sayso.serve.bag_fact import BagFact, FactName, FactParam, bag_fact_of, find_bag_fact, run_scores
from sayso.serve.errors import RequestError
from sayso.serve.workbench import Workbench

router = APIRouter(prefix="/api/annotate", tags=["annotate"])

_PILOT_DONE = "You have finished the pilot round and seen its answers, so your marks in it can no longer be changed."


@router.get("/fact")
def fact(bench: Bench, who: Who, asked: FactParam) -> schemas.AnnotatedFact:
    """Return a fact, its sentences and your work on it; run scores only after you submit it."""
    shown = find_bag_fact(bench, asked)
    with bench.database.reading() as connection:
        mine = work.work_of(connection, who.id, shown.fact)
    return schemas.AnnotatedFact(
        **dict(shown.name),
        head_id=shown.bag.head_id,
        head_name=shown.head_name,
        tail_id=shown.bag.tail_id,
        tail_name=shown.tail_name,
        definition=shown.relation.definition,
        example=shown.relation.example,
        is_label=shown.is_label,
        sentences=_sentences(shown, mine.labels),
        comment=mine.comment,
        is_wrong=mine.is_wrong,
        is_submitted=mine.is_submitted,
        scores=run_scores(bench, shown) if mine.is_submitted else [],
    )


@router.post("/marks")
def mark(bench: Bench, who: Who, given: schemas.MarksRequest) -> schemas.SavedState:
    """Mark sentences of a fact."""
    shown = find_bag_fact(bench, given)
    labels = {shown.text(each.sentence): each.label for each in given.marks}
    with bench.database.writing() as connection:
        hold(connection, who, shown.fact)
        keep_place(connection, who, shown.fact, given.marks[-1].sentence)
        return _saved(connection, who, shown, work.mark, labels, given.key)


@router.put("/comment")
def comment(bench: Bench, who: Who, given: schemas.CommentRequest) -> schemas.SavedState:
    """Comment on a fact."""
    with bench.database.writing() as connection:
        return _saved(connection, who, find_bag_fact(bench, given), work.comment, given.text, given.key)


@router.put("/wrong")
def flag_wrong(bench: Bench, who: Who, given: schemas.WrongRequest) -> schemas.SavedState:
    """Report a fact as wrong, or withdraw the report."""
    with bench.database.writing() as connection:
        return _saved(connection, who, find_bag_fact(bench, given), work.flag_wrong, given.is_wrong, given.key)


@router.post("/submit")
def submit(bench: Bench, who: Who, given: schemas.FactRequest) -> schemas.SavedState:
    """Submit a fact; every sentence must have a mark."""
    shown = find_bag_fact(bench, given)
    with bench.database.writing() as connection:
        state = _saved(connection, who, shown, work.submit, shown.texts, given.key)
        is_done = shown.fact in pilot_facts(connection) and pilot_result(connection, who, bench.has_fact).is_done
        return state.model_copy(update={"is_pilot_done": is_done})


@router.post("/undo")
def undo(bench: Bench, who: Who, given: schemas.UndoRequest) -> schemas.UndoneStep:
    """Undo your last step on the fact that is shown, or else on any fact of the part.

    For a submitted fact, a step on another fact is never undone instead. A finished pilot round cannot be changed.
    """
    asked = find_bag_fact(bench, given.fact).fact if given.fact else None
    with bench.database.writing() as connection:
        is_pilot_done = pilot_result(connection, who, bench.has_fact).is_done
        changes = work.undo_last(connection, who, given.key, bench.has_fact, asked)
        fact = changes[0].fact if changes else None
        if is_pilot_done and fact in pilot_facts(connection):
            raise RequestError(HTTPStatus.BAD_REQUEST, _PILOT_DONE)
        shown = bag_fact_of(bench, fact) if fact else None
        if not shown:
            return schemas.UndoneStep(fact=None, marks=[], is_more=False)
        places = {text: place for place, text in enumerate(shown.texts)}
        marks = [
            schemas.SentenceLabel.model_validate({"sentence": places[each.sentence], "label": each.value})
            for each in changes
            if each.sentence in places
        ]
        keep_place(connection, who, shown.fact, marks[0].sentence if marks else 0)
        return schemas.UndoneStep(fact=shown.name, marks=marks, is_more=not marks)


@router.put("/place")
def move(bench: Bench, who: Who, given: schemas.PlaceRequest) -> None:
    """Save the current position, to return to it later."""
    shown = find_bag_fact(bench, given)
    shown.text(given.sentence)
    with bench.database.writing() as connection:
        keep_place(connection, who, shown.fact, given.sentence)


@router.post("/next")
def go_on(bench: Bench, who: Who, after: FactName | None = None) -> schemas.NextFact:
    """Return the fact after this one, or the next fact in the queue if none is given."""
    shown = find_bag_fact(bench, after) if after else None
    with bench.database.writing() as connection:
        queue = bench.queue(read_settings(connection))
        found = next_fact(connection, who, queue, shown.fact if shown else None, bench.has_fact)
        return _turn(bench, connection, who, found)


@router.post("/previous")
def go_back(bench: Bench, who: Who, before: FactName) -> schemas.NextFact:
    """Return the fact before this one."""
    shown = find_bag_fact(bench, before)
    with bench.database.writing() as connection:
        return _turn(bench, connection, who, neighbour(connection, who, shown.fact, -1, bench.has_fact))


def _turn(bench: Workbench, connection: Connection, who: Annotator, found: Triple | None) -> schemas.NextFact:
    shown = bag_fact_of(bench, found) if found else None
    if shown is None:
        return schemas.NextFact(fact=None)
    labels = work.work_of(connection, who.id, shown.fact).labels
    first_open = next((place for place, text in enumerate(shown.texts) if text not in labels), 0)
    keep_place(connection, who, shown.fact, first_open)
    return schemas.NextFact(fact=shown.name)


def _saved(
    connection: Connection, who: Annotator, shown: BagFact, save: Callable[..., None], *what: object
) -> schemas.SavedState:
    """Save something about the fact with a function of `marking`, and return the state."""
    save(connection, who, shown.fact, *what)
    mine = work.work_of(connection, who.id, shown.fact)
    return schemas.SavedState(
        num_marked=len(mine.labels), num_sentences=len(shown.bag.sentences), is_submitted=mine.is_submitted
    )


def _sentences(shown: BagFact, labels: Mapping[str, str]) -> list[schemas.AnnotatedSentence]:
    return [
        schemas.AnnotatedSentence.model_validate(
            {
                "tokens": sentence.tokens,
                "head_spans": sentence.head.spans,
                "tail_spans": sentence.tail.spans,
                "label": labels.get(sentence.text, ""),
            }
        )
        for sentence in shown.bag.sentences
    ]
