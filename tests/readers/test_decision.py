from pathlib import Path

import pytest

from facts.decided import make_decided
from sayso.errors import BadInputError
from sayso.facts.decision_lines import verdict_lines
from sayso.readers.decision import FactVerdict, read_verdicts
from sayso.records import Triple


def test_what_decisions_export_writes_is_read_back(tmp_path: Path) -> None:
    (tmp_path / "v.jsonl").write_text(verdict_lines([make_decided(), make_decided(decision="rejected", reason="")]))
    fact = Triple("Q1030", "/location/country/capital", "Q3935")
    at = "2026-01-02T03:04:05.678+00:00"
    assert list(read_verdicts(tmp_path / "v.jsonl")) == [
        FactVerdict(fact, "accepted", "Ada", at, "the first sentence"),
        FactVerdict(fact, "rejected", "Ada", at),
    ]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (
            '{"head": "a", "relation": "r", "tail": "b", "verdict": "maybe"}',
            "'verdict' is 'maybe'; it must be accepted",
        ),
        ('{"head": "a", "relation": "r", "verdict": "accepted"}', "'tail' is missing"),
        ("accepted", "not JSON"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, fault: str) -> None:
    (tmp_path / "v.jsonl").write_text(f"\n{line}\n")
    with pytest.raises(BadInputError, match=rf"v\.jsonl:2: {fault}"):
        list(read_verdicts(tmp_path / "v.jsonl"))
