import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest

from sayso.errors import BadInputError
from sayso.io.json_file import JsonError, checked_files, from_json, read_record, record_of, to_json


class Place(NamedTuple):
    start: int
    stop: int = 9


@dataclass(frozen=True)
class Record:
    name: str
    share: float
    kind: Literal["new", "old"] = "new"
    places: tuple[Place, ...] = ()
    pair: tuple[int, str] | None = None
    counts: dict[str, int] | None = None
    rest: Any = None


def test_what_is_written_is_read_without_its_checksum() -> None:
    record = {"ä": [1, 2.5, None, {"b": "\U0001f600", "a": True}], "z": 2**63 - 1}
    for indent in (None, 2):
        text = to_json(record, indent)
        assert "crc32:" in text.splitlines()[-2 if indent else 0]
        assert from_json(text) == record
        assert from_json(text.encode()) == record


def test_an_object_without_checksum_is_read() -> None:
    assert from_json('{"a": 1}') == {"a": 1}


@pytest.mark.parametrize("indent", [None, 2])
def test_no_changed_byte_is_read_as_something_else(indent: int | None) -> None:
    record = {"num_shards": 16, "name": "a b", "is_finished": True, "figures": [0.25, None]}
    data = to_json(record, indent).encode()
    for place in range(len(data)):
        for other in (data[place] ^ 1, data[place] ^ 0x20, 0, 0x30, 0xFF):
            if other != data[place]:
                try:
                    assert from_json(data[:place] + bytes([other]) + data[place + 1 :]) == record
                except JsonError:
                    continue


def test_no_verify_reads_what_was_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    text = to_json({"num_shards": 16}).replace("16", "5")
    with pytest.raises(JsonError, match="the checksum differs"):
        from_json(text)
    monkeypatch.setenv("SAYSO_NO_VERIFY", "1")
    assert from_json(text) == {"num_shards": 5}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON: expecting value on line 1"),
        ("[]", "not a JSON object"),
        ("nul", "not JSON"),
        ('{"a": NaN}', "NaN is not allowed"),
        ('{"a": -Infinity}', "-Infinity is not allowed"),
        ('{"a": 1e999}', "a number is not finite"),
        (f'{{"a": {"9" * 5000}}}', "a number has too many digits"),
        (f'{{"a": {"9" * 50}}}', "a number has too many digits"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
        (b'{"a": "\xff"}', "not UTF-8 text"),
    ],
)
def test_what_is_not_usable_json_is_refused(text: str | bytes, message: str) -> None:
    with pytest.raises(JsonError, match=message):
        from_json(text)


def test_values_become_the_types_of_their_fields(tmp_path: Path) -> None:
    table = {"name": "n", "share": 1, "places": [{"start": 1}], "pair": [3, "x"], "counts": {"a": 2}, "rest": [None]}
    (tmp_path / "r.json").write_text(to_json(table))
    read = read_record(tmp_path / "r.json", Record, "record", "write it again")
    assert read == Record("n", 1.0, "new", (Place(1, 9),), (3, "x"), {"a": 2}, [None])
    assert isinstance(read.share, float)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": None}, "name: expected a string, got None"),
        ({"share": "0.5"}, "share: expected a number, got '0.5'"),
        ({"share": True}, "share: expected a number, got True"),
        ({"kind": "odl"}, "kind: 'odl' is not one of new, old; did you mean old?"),
        ({"places": [{"stop": 1}]}, "places.start: missing"),
        ({"places": {"start": 1}}, "places: expected a list"),
        ({"pair": [3]}, "pair: expected 2 values, got 1"),
        ({"counts": {"a": "x"}}, "counts.a: expected an integer"),
        ({"nmae": 1}, "nmae: no such setting; did you mean name?"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_in_one_line(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    (tmp_path / "r.json").write_text(json.dumps({"name": "n", "share": 0.5} | change))
    with pytest.raises(BadInputError) as error:
        read_record(tmp_path / "r.json", Record, "record", "write it again")
    assert str(error.value).startswith(f"{tmp_path / 'r.json'}: not a valid record (")
    assert message in str(error.value)
    assert str(error.value).endswith(": write it again")
    assert "\n" not in str(error.value)


def test_a_missing_field_is_refused_and_others_only_where_they_may_be() -> None:
    with pytest.raises(JsonError, match="share: missing"):
        record_of(Record, {"name": "n"})
    assert record_of(Place, {"start": 1, "colour": "red"}, is_open=True) == Place(1)


@pytest.mark.parametrize("sums", [[], {"a": 1}, {"a": {"size": "1", "crc32": 2}}])
def test_sums_that_are_none_are_refused(tmp_path: Path, sums: object) -> None:
    with pytest.raises(BadInputError, match="'files' has invalid checksums"):
        checked_files(tmp_path / "manifest.json", {"files": sums}, "make it again")
