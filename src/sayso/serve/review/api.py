"""Facts of extractions as JSON."""

from fastapi import APIRouter

from sayso.annotate.decisions import decision_on
from sayso.serve.deps import Bench, Who
from sayso.serve.review.answers import FoundAnswer, FoundDecision, FoundFileAnswer, found_answer, found_file_answer
from sayso.serve.review.decide import save_found_decision
from sayso.serve.review.deps import AskedFile, AskedFound, WantedFound, find_file, find_found
from sayso.serve.review.index import FoundPage

router = APIRouter(prefix="/api/found", tags=["found"])


@router.get("")
def get_files(bench: Bench) -> list[FoundFileAnswer]:
    """Return the files of facts that are open."""
    return [found_file_answer(find_file(name, bench)) for name in bench.found]


@router.get("/{facts}")
def get_found(file: AskedFile, query: WantedFound) -> FoundPage:
    """Return one page of the facts that are asked for, sorted and filtered."""
    return file.index.page(query)


@router.get("/{facts}/fact")
def get_found_fact(bench: Bench, file: AskedFile, asked: AskedFound) -> FoundAnswer:
    """Return one fact with its quotes."""
    fact = file.fact(find_found(file, asked))
    with bench.database.reading() as connection:
        decided = decision_on(connection, asked)
    return found_answer(fact, file.threshold, decided.decision if decided else "")


@router.post("/{facts}/decisions")
def post_found_decision(bench: Bench, who: Who, file: AskedFile, given: FoundDecision) -> None:
    """Save a decision on a fact; it takes the place of the one before."""
    save_found_decision(bench, who, file, given)
