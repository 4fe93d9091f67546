import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from resealed import rewrite
from sayso.errors import BadInputError, UserError
from sayso.store.predictions import PredictionColumns, Predictions, write_predictions


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    columns = PredictionColumns(
        facts={"relation": ["capital"], "probability": np.array([0.5])},
        evidence={"fact": np.array([0, 0]), "rank": np.array([2, 1])},
        words={"word": ["a"], "score": np.array([1.0])},
        manifest={"mechanisms": ["attention"], "data_fingerprint": "abc"},
    )
    write_predictions(tmp_path / "predictions", columns)
    write_predictions(tmp_path / "predictions", columns)
    return tmp_path / "predictions"


def test_what_is_written_is_read_and_an_earlier_evaluation_is_replaced(folder: Path) -> None:
    found = Predictions(folder)
    assert found.facts["relation"].to_pylist() == ["capital"]
    assert found.evidence["rank"].to_pylist() == [2, 1]
    assert found.words["score"].to_pylist() == [1.0]
    assert found.mechanisms == ["attention"]


def test_a_store_that_has_decisions_is_read_as_support(tmp_path: Path) -> None:
    facts = {"verdict": ["stated", "stated", "no_sentence"], "smallest_size": np.array([1, 2, 0], np.int32)}
    columns = PredictionColumns(
        facts=facts, evidence={}, words={}, manifest={"mechanisms": [], "data_fingerprint": "abc"}
    )
    write_predictions(tmp_path / "predictions", columns)
    found = Predictions(tmp_path / "predictions").facts
    assert found["support"].to_pylist() == ["one_sentence", "sentences_together", "not_sentences"]
    assert set(found) == {"support", "smallest_size"}


def test_those_that_a_killed_process_had_moved_aside_are_read(folder: Path) -> None:
    folder.rename(folder.with_name(".predictions.0123abcd.replaced"))
    assert Predictions(folder).mechanisms == ["attention"]


def test_they_are_read_without_torch(folder: Path) -> None:
    program = "import sys; from pathlib import Path; from sayso.store.predictions import Predictions\n"
    program += "Predictions(Path(sys.argv[1])).facts; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program, str(folder)], check=True)


def test_a_folder_of_something_else_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("dear diary")
    with pytest.raises(UserError, match="contains something other than predictions"):
        write_predictions(tmp_path, PredictionColumns(facts={}, evidence={}, words={}, manifest={}))


def test_a_missing_or_newer_folder_is_said(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="no predictions found"):
        Predictions(tmp_path / "absent")
    rewrite(folder / "manifest.json", format=99)
    with pytest.raises(BadInputError, match="predictions in format 99"):
        Predictions(folder)


@pytest.mark.parametrize(("mechanisms", "reason"), [(None, "mechanisms: missing"), (5, "mechanisms: ")])
def test_a_manifest_without_a_field_or_with_one_of_another_type_is_refused(
    folder: Path, mechanisms: int | None, reason: str
) -> None:
    rewrite(folder / "manifest.json", mechanisms=mechanisms)
    with pytest.raises(BadInputError, match=rf"manifest\.json: not a valid predictions manifest \({reason}"):
        Predictions(folder)


def test_a_column_name_that_is_damaged_is_refused_where_there_are_no_checksums(folder: Path) -> None:
    rewrite(folder / "manifest.json", files=None)
    path = folder / "facts.arrow"
    path.write_bytes(path.read_bytes().replace(b"probability", b"prob\xffbility"))
    with pytest.raises(BadInputError, match=r"facts\.arrow: not a valid Arrow file"):
        _ = Predictions(folder).facts
