"""The committed measurements are complete, and rows say what was measured."""

import json
from pathlib import Path

import pytest

import figure
from figure import Figure, amount, at_least, at_most, ratio

ROOT = Path(__file__).parent.parent.parent
KEYS = set(Figure.__dataclass_fields__)


def test_every_committed_row_has_all_of_its_fields_and_names_the_machine() -> None:
    rows = figure.read()
    assert rows
    for row in rows:
        assert set(row) == KEYS
        assert row["machine"]
        compiler = "triton" if "NVIDIA" in row["machine"] else "numba"
        assert {"torch", compiler} <= set(row["versions"])
        assert (row["reference"] is None) == (row["ratio"] is None)
        assert (row["target"] is None) == (row["met"] is None)
        assert row["met"] is not False or row["note"], f"{row['name']}: no reason why the target is not met"
    assert len({row["name"] for row in rows}) == len(rows)


def test_a_ratio_is_that_of_the_medians_and_its_range_that_of_the_rounds() -> None:
    row = ratio("x", [10.0, 30.0, 20.0], [1.0, 2.0, 4.0], "1/s", at_least(10))
    assert (row.ours, row.reference, row.ratio, row.met) == (20.0, 2.0, 10.0, True)
    assert row.spread == (5.0, 15.0)
    assert not ratio("x", [9.0], [1.0], "1/s", at_least(10)).met


def test_an_amount_is_compared_with_its_target() -> None:
    assert amount("x", [3.0, 1.0, 2.0], "s", at_most(2)).met
    assert amount("x", [3.0], "s", None).met is None


def test_a_program_replaces_its_own_rows_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(figure, "RESULTS", tmp_path / "results.json")
    for program, name in (("a", "old"), ("b", "other"), ("a", "new")):
        monkeypatch.setattr("sys.argv", [f"bench/{program}.py"])
        figure.record([amount(name, [1.0], "s", at_most(0), "slow disk")])
    assert [row["name"] for row in json.loads((tmp_path / "results.json").read_text())] == ["other", "new"]
    assert "NOT MET" in capsys.readouterr().out
