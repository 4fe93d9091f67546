from pathlib import Path

import pytest

from reproduce.toy_outcomes import make_outcome
from sayso.errors import BadInputError
from sayso.reproduce.outcome import read_outcome, write_outcome


def test_an_outcome_is_read_as_it_was_written(tmp_path: Path) -> None:
    outcome = make_outcome("DirectSup+F+LD", seed=13)
    write_outcome(tmp_path / "run.json", outcome)
    assert read_outcome(tmp_path / "run.json") == outcome


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"orders": {}}', '{"orders": {"x": {"y": 1}}}'])
def test_what_is_no_outcome_is_said_with_its_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(BadInputError, match=r"run.json: not the outcome of a run, or damaged \(.*\): remove it"):
        read_outcome(tmp_path / "run.json")
