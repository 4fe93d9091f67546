import json
import logging
from pathlib import Path

import pytest

from sayso.errors import BadInputError
from sayso.facts.file import FACTS_FILE, read_extracted
from toy_facts import make_extracted


def test_the_facts_of_a_file_are_read_in_order(tmp_path: Path) -> None:
    facts = [make_extracted(), make_extracted(tail_id="Q1")]
    (tmp_path / "mine.jsonl").write_text("".join(f"{fact.to_json()}\n" for fact in facts))
    assert list(read_extracted(tmp_path / "mine.jsonl")) == facts


def test_a_line_that_is_not_a_fact_is_reported_with_its_number(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text(f'{make_extracted().to_json()}\n{{"head": "Q1"}}\n')
    with pytest.raises(BadInputError, match=r"mine\.jsonl:2: not a fact written by .* \('relation'"):
        list(read_extracted(tmp_path / "mine.jsonl"))


def test_a_file_of_an_earlier_version_is_read_with_one_note(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    record = make_extracted().to_dict()
    record["verdict"] = record.pop("support") | {"kind": "stated"}
    (tmp_path / FACTS_FILE).write_text(f"{json.dumps(record)}\n" * 3)
    with caplog.at_level(logging.WARNING):
        assert list(read_extracted(tmp_path / FACTS_FILE)) == [make_extracted()] * 3
    (note,) = caplog.messages
    assert "'verdict' is called 'support' now" in note
