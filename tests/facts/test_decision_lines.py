import json

from facts.decided import make_decided
from sayso.facts.decision_lines import decision_lines


def test_a_line_says_who_decided_what_about_which_fact() -> None:
    lines = decision_lines([make_decided(decision="rejected", reason="no\nsentence"), make_decided()]).splitlines()
    rejected, accepted = map(json.loads, lines)
    assert rejected == {
        "head": "Q1030",
        "tail": "Q3935",
        "relation": "/location/country/capital",
        "decision": "rejected",
        "by": "Ada",
        "at": "2026-01-02T03:04:05.678+00:00",
        "reason": "no\nsentence",
    }
    assert accepted["decision"] == "accepted"


def test_an_empty_reason_is_left_out() -> None:
    assert "reason" not in json.loads(decision_lines([make_decided(reason="")]))
