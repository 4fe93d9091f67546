"""Record a decision: the fact, who decided what and why, and the sentences that were on the page."""

from collections.abc import Callable
from dataclasses import fields
from typing import Annotated, Literal

from pydantic import Field

from sayso.annotate.decisions import decide, withdraw
from sayso.annotate.people import Annotator, now
from sayso.facts.explanation import Explanation
from sayso.facts.fact import DecidedFact, Decision, Fact, Quote, quote_of
from sayso.records import Triple
from sayso.serve.annotate.schemas import FactName, Prose, Step
from sayso.serve.predictions.lookup import AskedFact, find_fact, find_run, full_sight
from sayso.serve.predictions.run import ExploredRun
from sayso.serve.workbench import Workbench

MAX_QUOTES = 20
MAX_REASON = 2_000


class GivenDecision(Step):
    """What is decided about a fact, and why; `withdrawn` leaves it undecided again."""

    decision: Decision | Literal["withdrawn"]
    reason: Annotated[Prose, Field(max_length=MAX_REASON)] = ""


class DecisionStep(FactName, GivenDecision):
    """What is decided about a fact, looking at a run; `withdrawn` leaves it undecided again."""

    run: Annotated[str, Field(max_length=300)]


def save_decision(bench: Workbench, who: Annotator, given: DecisionStep) -> None:
    """Save what somebody decides about a fact, looking at a run; one that is withheld from them is a problem."""
    run, asked = find_run(given.run, bench), AskedFact(given.bag, given.relation)
    row = find_fact(run, asked)
    with_marks = full_sight(bench, who, asked)
    fact = run.fact(row)
    triple = Triple(fact["head_id"], given.relation, fact["tail_id"])

    def record(decision: Decision, reason: str) -> DecidedFact:
        return decided_fact(run, run.explanation(row, with_marks), decision, reason, who)

    save(bench, who, triple, given, record)


def save(
    bench: Workbench,
    who: Annotator,
    fact: Triple,
    given: GivenDecision,
    record: Callable[[Decision, str], DecidedFact],
) -> None:
    """Save what somebody decides about a fact; `record` gives what is kept of a decision and its reason."""
    with bench.database.writing() as connection:
        if given.decision == "withdrawn":
            withdraw(connection, who, fact, given.key)
        else:
            decide(connection, who, record(given.decision, given.reason.strip()), given.key)


def decided_fact(
    run: ExploredRun, explanation: Explanation, decision: Decision, reason: str, annotator: Annotator
) -> DecidedFact:
    """Return the record of a decision that is made now, with the run's words for why the fact may hold."""
    manifest = run.predictions.manifest
    return DecidedFact(
        **{each.name: getattr(explanation, each.name) for each in fields(Fact)},
        decision=decision,
        reason=reason,
        annotator=annotator.name,
        decided_at=now(),
        is_label=bool(explanation.is_label),
        run=run.name,
        variant=explanation.variant,
        model_fingerprint=str(manifest["model_fingerprint"]),
        data_fingerprint=str(manifest["data_fingerprint"]),
        mechanism=explanation.ranked_by,
        quotes=_quotes(explanation),
    )


def _quotes(explanation: Explanation) -> tuple[Quote, ...]:
    """Return the sentences that carry the fact or that people marked so; where there are none, the first in rank."""
    carrying = [each for each in explanation.evidence if each.is_in_smallest or each.mark == "rationale"]
    return tuple(
        quote_of(each.sentence, each.rank, each.scores[explanation.ranked_by], each.mark)
        for each in (carrying or explanation.evidence[:1])[:MAX_QUOTES]
    )
