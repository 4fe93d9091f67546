import gzip
from pathlib import Path

import pytest

from sayso.errors import BadInputError
from sayso.facts.export import decision_lines
from sayso.readers.fact import FactDecision, read_decisions, read_triples
from sayso.records import Triple
from toy_facts import make_decided


def written(folder: Path, text: str) -> Path:
    path = folder / "kg.tsv"
    path.write_text(text)
    return path


def test_facts_come_in_order_including_repeated_ones(tmp_path: Path) -> None:
    facts = list(read_triples(written(tmp_path, "a\tborn\tb\n\na\tborn\tb\nb\tin\tc\r\n")))
    assert facts == [("a", "born", "b"), ("a", "born", "b"), ("b", "in", "c")]


def test_gzip_is_read(tmp_path: Path) -> None:
    path = tmp_path / "kg.tsv.gz"
    path.write_bytes(gzip.compress(b"a\tborn\tb\n"))
    assert list(read_triples(path)) == [("a", "born", "b")]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("a born b", "expected 3 columns .*, got 1"),
        ("a\tb", "expected 3 columns .*, got 2"),
        ("a\tb\tc\td", "expected 3 columns .*, got 4"),
        ("a\t \tc", "is empty"),
        ("a\x1b[2J\tborn\tc", "control character"),
    ],
)
def test_a_bad_fact_is_named(tmp_path: Path, line: str, reason: str) -> None:
    with pytest.raises(BadInputError, match=rf"kg\.tsv:2: .*{reason}"):
        list(read_triples(written(tmp_path, f"a\tborn\tb\n{line}\n")))


def test_facts_before_a_bad_line_have_come_already(tmp_path: Path) -> None:
    facts = read_triples(written(tmp_path, "a\tborn\tb\nbad\n"))
    assert next(facts) == ("a", "born", "b")


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
def test_a_bad_decision_is_named(tmp_path: Path, line: str, fault: str) -> None:
    (tmp_path / "v.jsonl").write_text(f"\n{line}\n")
    with pytest.raises(BadInputError, match=rf"v\.jsonl:2: {fault}"):
        list(read_decisions(tmp_path / "v.jsonl"))


def test_a_file_of_an_earlier_version_is_read_with_a_note(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    line = '{"head": "a", "relation": "r", "tail": "b", "verdict": "accepted"}\n'
    (tmp_path / "old.jsonl").write_text(line * 2)
    assert {each.decision for each in read_decisions(tmp_path / "old.jsonl")} == {"accepted"}
    assert [record.getMessage() for record in caplog.records] == [
        f"{tmp_path / 'old.jsonl'}: written by sayso 0.1 ('verdict' is now called 'decision');"
        " sayso 0.3 will no longer read it"
    ]
