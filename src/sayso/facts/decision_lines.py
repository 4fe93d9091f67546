"""Decided facts as JSON lines that carry nothing but the decision: what goes back into the making of a store."""

import json
from collections.abc import Iterable

from sayso.facts.decided import DecidedFact


def decision_lines(facts: Iterable[DecidedFact]) -> str:
    """Return a line for each fact: ids of head and tail, relation, decision, who decided and why."""
    return "".join(json.dumps(_record(fact), ensure_ascii=False) + "\n" for fact in facts)


def _record(fact: DecidedFact) -> dict[str, str]:
    record = {"head": fact.head_id, "tail": fact.tail_id, "relation": fact.relation, "decision": fact.decision}
    about = {"by": fact.annotator, "at": fact.decided_at, "reason": fact.reason}
    return record | {name: value for name, value in about.items() if value}
