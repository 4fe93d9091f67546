"""Record a decision: the fact, who decided what and why, and the sentences shown on the page."""

import secrets
from dataclasses import fields
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from sayso.annotate.decisions import decide, withdraw
from sayso.annotate.people import Annotator, now
from sayso.facts.explanation import Explanation
from sayso.facts.fact import Decision, Fact, QuotedFact, quote_of
from sayso.serve.annotate.schemas import KeyedRequest, Prose
from sayso.serve.bag_fact import FactName
from sayso.serve.predictions.lookup import find_fact, find_run, marks_visible
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
    run = find_run(given.run, bench)
    explanation = run.explanation(find_fact(run, given), marks_visible(bench, who, given))
    save(bench, who, given, quoted_fact(run, explanation), bool(explanation.is_label))


def save(bench: Workbench, who: Annotator, given: DecisionRequest, fact: QuotedFact, is_label: bool) -> None:
    """Save or withdraw a decision; `is_label` says whether the knowledge base has the fact."""
    with bench.database.writing() as connection:
        if given.decision == "withdrawn":
            withdraw(connection, who, fact.triple, given.key)
        else:
            decided = fact.decided(given.decision, who.name, now(), given.reason.strip(), is_label)
            decide(connection, who, decided, given.key)


def quoted_fact(run: RunPredictions, explanation: Explanation) -> QuotedFact:
    """Return a fact with the sentences of its smallest set and the rationales, or else the top-ranked sentence."""
    carrying = [each for each in explanation.evidence if each.is_in_smallest or each.mark == "rationale"]
    return QuotedFact(
        **{each.name: getattr(explanation, each.name) for each in fields(Fact)},
        run=run.name,
        variant=explanation.variant,
        model_fingerprint=str(run.predictions.manifest["model_fingerprint"]),
        data_fingerprint=str(run.predictions.manifest["data_fingerprint"]),
        mechanism=explanation.ranked_by,
        quotes=tuple(
            quote_of(each.sentence, each.rank, each.scores[explanation.ranked_by], each.mark)
            for each in (carrying or explanation.evidence[:1])[:MAX_QUOTES]
        ),
    )
