"""Record a decision: the fact, who decided what and why, and the sentences shown on the page."""

import secrets
from collections.abc import Callable
from dataclasses import fields
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from sayso.annotate.decisions import decide, withdraw
from sayso.annotate.people import Annotator, now
from sayso.facts.explanation import Explanation
from sayso.facts.fact import DecidedFact, Decision, Fact, Quote, quote_of
from sayso.records import Triple
from sayso.serve.annotate.schemas import FactName, KeyedRequest, Prose
from sayso.serve.predictions.lookup import FactKey, find_fact, find_run, marks_visible
from sayso.serve.predictions.run import RunPredictions
from sayso.serve.workbench import Workbench

MAX_QUOTES = 20
MAX_REASON = 2_000


class DecisionRequest(KeyedRequest):
    """A decision on a fact, and the reason; `withdrawn` deletes the decision."""

    decision: Decision | Literal["withdrawn"]
    reason: Annotated[Prose, Field(max_length=MAX_REASON)] = ""


class SentByForm(BaseModel):
    """Fields that a form adds: a key, since each form is sent once, and the list to return to."""

    key: str = Field(default_factory=lambda: secrets.token_hex(8))
    within: Annotated[str, Field(max_length=2_000)] = ""


class PredictionDecision(FactName, DecisionRequest):
    """A decision on a run's fact; `withdrawn` deletes the decision."""

    run: Annotated[str, Field(max_length=300)]


def save_decision(bench: Workbench, who: Annotator, given: PredictionDecision) -> None:
    """Save a decision on a run's fact; refused if the fact is withheld from the annotator."""
    run, asked = find_run(given.run, bench), FactKey(given.bag, given.relation)
    row = find_fact(run, asked)
    with_marks = marks_visible(bench, who, asked)
    fact = run.fact(row)
    triple = Triple(fact["head_id"], given.relation, fact["tail_id"])

    def record(decision: Decision, reason: str) -> DecidedFact:
        return decided_fact(run, run.explanation(row, with_marks), decision, reason, who)

    save(bench, who, triple, given, record)


def save(
    bench: Workbench,
    who: Annotator,
    fact: Triple,
    given: DecisionRequest,
    record: Callable[[Decision, str], DecidedFact],
) -> None:
    """Save or withdraw a decision; `record` builds the stored record from the decision and its reason."""
    with bench.database.writing() as connection:
        if given.decision == "withdrawn":
            withdraw(connection, who, fact, given.key)
        else:
            decide(connection, who, record(given.decision, given.reason.strip()), given.key)


def decided_fact(
    run: RunPredictions, explanation: Explanation, decision: Decision, reason: str, annotator: Annotator
) -> DecidedFact:
    """Return the record of a decision made now, with the run's explanation of the fact."""
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
    """Return the sentences of the smallest set and those marked as rationales, or else the top-ranked one."""
    carrying = [each for each in explanation.evidence if each.is_in_smallest or each.mark == "rationale"]
    return tuple(
        quote_of(each.sentence, each.rank, each.scores[explanation.ranked_by], each.mark)
        for each in (carrying or explanation.evidence[:1])[:MAX_QUOTES]
    )
