import gzip
from pathlib import Path

import pytest

from sayso.documents.name_table import read_names
from sayso.errors import BadInputError


def test_lines_with_tabs_and_json_lines_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("\ufeffm.1\tAna  Diaz\tAna\t\nm.2\tRome\n\n")
    (tmp_path / "b").write_bytes(
        gzip.compress(b'{"id": "m.1", "name": "Ana Diaz", "aliases": ["Ana"]}\n{"id": "m.2", "name": "Rome"}\n')
    )
    for name in "ab":
        assert read_names(tmp_path / name) == {"m.1": ("Ana Diaz", "Ana"), "m.2": ("Rome",)}


def test_an_entity_with_several_lines_has_all_their_names_once(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("m.1\tAna\nm.2\tBo\nm.1\tAna\tA. Diaz\n")
    assert read_names(tmp_path / "x")["m.1"] == ("Ana", "A. Diaz")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("m.1\n", ":1: entity 'm.1' has no name"),
        ("m.1\tAna\n\tBo\n", ":2: the entity id is empty"),
        ('{"id": "m.1"}\n', ":1: 'name' is missing"),
        ('{"id": "m\\t1", "name": "Ana"}\n', ":1: the id or name 'm\\\\t1' contains the control character"),
        ("m.1\tAna\x1b[31m\n", ":1: the id or name 'Ana.*contains the control character"),
        ("\n", ": holds no names"),
        ("", ": holds no names"),
    ],
)
def test_a_fault_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x").write_text(text)
    with pytest.raises(BadInputError, match=f"x{message}"):
        read_names(tmp_path / "x")
