import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sayso.errors import BadInputError
from sayso.io.checksum import CheckedFiles
from sayso.store.columns import Column, Limits, fault_of, is_finite, is_within, read_columns, write_columns
from sayso.store.rows import Rows
from sayso.store.table import BagTable

WORDS = ["windhoek", "namibia"]
ROWS = Rows(np.arange(15), np.array([0, 8, 15]))


@pytest.mark.parametrize("column", [WORDS, ROWS], ids=["texts", "rows of numbers"])
def test_a_damaged_offset_is_refused_even_where_checksums_are_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, column: Column
) -> None:
    path = tmp_path / "words.arrow"
    write_columns(path, {"word": column})
    content, offsets = path.read_bytes(), struct.pack("<3q", 0, 8, 15)
    path.write_bytes(content.replace(offsets, struct.pack("<3q", 0, 8 + 2**48, 15)))
    assert path.read_bytes() != content
    monkeypatch.setenv("SAYSO_NO_VERIFY", "1")
    with pytest.raises(BadInputError, match=r"words\.arrow: not a valid Arrow file .*: make it again"):
        read_columns(CheckedFiles(tmp_path, None, "make it again"), "words.arrow")


LIMITS = Limits(words=4, entities=3, relations=2, documents=1, labels=2)


def make_table(**changes: object) -> BagTable:
    """Return two bags, of two sentences and of one, of three words each."""
    one_each = Rows.of_lengths(np.array([0, 1, 1, 2, 0, 1]), np.array([2, 2, 2]))
    table = BagTable(
        head_B=np.array([0, 1]),
        tail_B=np.array([2, 2]),
        relations=Rows.of_lengths(np.array([1]), np.array([1, 0])),
        first_B1=np.array([0, 2, 3]),
        tokens=Rows.of_lengths(np.array([0, 1, 2, 3, 0, 1, 2, 3, 0]), np.array([3, 3, 3])),
        head_spans=one_each,
        tail_spans=one_each,
        window_N2=np.array([[0, 3]] * 3),
        expresses_N=np.array([np.nan, 0.5, 1.0]),
        label_N=np.array([-1, 0, 1]),
        document_N=np.array([-1, 0, 0]),
        place_N2=np.array([[-1, -1], [0, 9], [9, 20]]),
        glued=Rows.empty(3),
        curly=Rows.empty(3),
    )
    return replace(table, **changes)


def test_a_whole_table_has_no_fault() -> None:
    assert fault_of(make_table(), LIMITS) == ""


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"head_B": np.array([0, 3])}, "a value of head_B is not between 0 and 2"),
        ({"tail_B": np.array([-1, 2])}, "a value of tail_B is not between 0 and 2"),
        ({"head_B": np.array([0.0, 1.0])}, "a value of head_B"),
        ({"head_B": np.array([0])}, "head_B has 1 rows"),
        ({"label_N": np.array([-1, 2, 0])}, "a value of label_N is not between -1 and 1"),
        (
            {"relations": Rows.of_lengths(np.array([2]), np.array([1, 0]))},
            "a value of relations is not between 0 and 1",
        ),
        (
            {"tokens": Rows.of_lengths(np.array([4] * 9), np.array([3, 3, 3]))},
            "a value of tokens is not between 0 and 3",
        ),
        ({"tokens": np.zeros(3, int)}, "tokens has the wrong type"),
        ({"head_spans": Rows.of_lengths(np.array([0, 4]), np.array([2, 0, 0]))}, "a value of head_spans is not"),
        ({"window_N2": np.array([[0, 4]] * 3)}, "a value of window_N2 is not between 0 and 3"),
        ({"window_N2": np.array([[0, 1, 2]] * 3)}, "window_N2 does not contain pairs"),
        ({"document_N": np.array([1, 0, 0])}, "a value of document_N is not between -1 and 0"),
        ({"first_B1": np.array([0, 4, 3])}, "a value of first_B1 is not between 0 and 3"),
        ({"first_B1": np.array([1, 2, 3])}, "bags are not consecutive"),
        ({"expresses_N": np.array([0, 1, 0])}, "expresses_N does not contain floats"),
    ],
)
def test_a_number_out_of_range_and_a_column_of_another_form_are_named(changes: dict[str, object], fault: str) -> None:
    assert fault in fault_of(make_table(**changes), LIMITS)


def test_vectors_are_finite_or_not() -> None:
    assert is_finite(np.zeros((0, 3)))
    assert is_finite(np.array([1.0, -2.0]))
    assert not is_finite(np.array([1.0, np.nan]))
    assert not is_finite(np.array([1.0, -np.inf]))


def test_only_whole_numbers_are_places() -> None:
    assert is_within(np.array([0, 2]), 0, 3)
    assert not is_within(np.array([0, 3]), 0, 3)
    assert not is_within(np.array([0.0]), 0, 3)
