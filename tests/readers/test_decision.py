from pathlib import Path

import pytest

from sayso.errors import BadInputError
from sayso.facts.export import decision_lines
from sayso.readers.decision import FactDecision, read_decisions
from sayso.records import Triple
from toy_facts import make_decided


def test_what_decisions_export_writes_is_read_back(tmp_path: Path) -> None:
    (tmp_path / "v.jsonl").write_text(decision_lines([make_decided(), make_decided(decision="rejected", reason="")]))
    fact = Triple("Q1030", "/location/country/capital", "Q3935")
    at = "2026-01-02T03:04:05.678+00:00"
    assert list(read_decisions(tmp_path / "v.jsonl")) == [
        FactDecision(fact, "accepted", "Ada", at, "the first sentence"),
        FactDecision(fact, "rejected", "Ada", at),
    ]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (
            '{"head": "a", "relation": "r", "tail": "b", "decision": "maybe"}',
            "'decision' is 'maybe'; it must be accepted",
        ),
        ('{"head": "a", "relation": "r", "decision": "accepted"}', "'tail' is missing"),
        ("accepted", "not JSON"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, fault: str) -> None:
    (tmp_path / "v.jsonl").write_text(f"\n{line}\n")
    with pytest.raises(BadInputError, match=rf"v\.jsonl:2: {fault}"):
        list(read_decisions(tmp_path / "v.jsonl"))


def test_a_file_of_an_earlier_version_is_read_with_a_note(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    line = '{"head": "a", "relation": "r", "tail": "b", "verdict": "accepted"}\n'
    (tmp_path / "old.jsonl").write_text(line * 2)
    assert {each.decision for each in read_decisions(tmp_path / "old.jsonl")} == {"accepted"}
    assert [record.getMessage() for record in caplog.records] == [
        f"{tmp_path / 'old.jsonl'}: written by sayso 0.1 ('verdict' is called 'decision' now);"
        " sayso 0.3 will no longer read it"
    ]
