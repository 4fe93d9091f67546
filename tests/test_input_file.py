import sys
from pathlib import Path

import pytest

from sayso.errors import BadInputError
from sayso.input_file import holding, open_raw, without_mark


def test_a_closed_standard_input_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(BadInputError, match="-: standard input is closed"):
        open_raw(Path("-"))


def test_only_a_mark_at_the_beginning_is_taken_off() -> None:
    mark = "\ufeff".encode()
    assert without_mark(mark + b"a" + mark) == b"a" + mark


def test_items_come_before_it_is_known_that_there_are_none() -> None:
    items = holding(Path("file"), "names", iter("ab"))
    assert [next(items), next(items)] == ["a", "b"]
    assert list(items) == []
    with pytest.raises(BadInputError, match="file: contains no names"):
        list(holding(Path("file"), "names", ()))
