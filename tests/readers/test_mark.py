from contextlib import suppress
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from readers.shared_data import shared
from readers.strategies import json_records, marks
from sayso.readers.base import BadLine, BadLineError
from sayso.readers.mark import parse, read_mark_lines, write_mark
from sayso.records import Mark

LINE = (
    '{"head": "m.1", "tail": "m.2", "relation": "/born", "sentence": "ana in rome", "label": "irrelevant", "by": "kim"}'
)


@given(mark=marks)
def test_round_trip_preserves_everything(mark: Mark) -> None:
    line = write_mark(mark)
    assert "\n" not in line
    assert parse(line) == mark


def test_bad_lines_are_reported_by_number_and_the_others_read(tmp_path: Path) -> None:
    path = tmp_path / "marks.jsonl"
    path.write_bytes(b"\n".join([LINE.encode(), b"", b"\xff", b'{"head": 3}', LINE.encode()]))
    expected = Mark("m.1", "m.2", "/born", "ana in rome", "irrelevant", "kim")
    assert list(read_mark_lines(path)) == [
        (1, expected),
        (3, BadLine("byte 1 of the line is not UTF-8")),
        (4, BadLine("'head' is a number, not a string")),
        (5, expected),
    ]


@given(record=json_records, text=st.text())
def test_no_text_raises_anything_but_a_bad_line(record: dict[str, object], text: str) -> None:
    for line in (str(record).replace("'", '"'), text):
        with suppress(BadLineError):
            assert isinstance(parse(line), Mark)


def test_the_real_marks_are_read() -> None:
    items = [item for _, item in read_mark_lines(shared("fbnyt/rationales.jsonl"))]
    assert len(items) == 1_946
    assert {item.label for item in items if isinstance(item, Mark)} == {"rationale", "irrelevant"}
