import gzip
from pathlib import Path

import pytest

from corpus.shared_data import shared
from sayso.corpus.entity_type import read_entity_types
from sayso.errors import BadInputError

EXPECTED = {"m.1": ("/person/artist", "/person"), "m.2": ()}


@pytest.mark.parametrize(
    "text",
    [
        '{"m.1": ["/person/artist", "/person", "/person"],\n "m.2": []}',
        "m.1\t/person/artist\t/person\nm.2\n",
        "m.1\t/person/artist\r\nm.2\t\r\n\r\nm.1\t/person\r\n",
    ],
    ids=["json", "columns", "several lines"],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_types_come_in_order_and_empty_lists_stay(tmp_path: Path, text: str, pack: type[bytes]) -> None:
    path = tmp_path / "types"
    path.write_bytes(pack(text.encode()))
    assert read_entity_types(path) == EXPECTED


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"m.1": "/person"}', "types: the types of 'm.1' are not a list of names"),
        ('{"m.1": [3]}', "types: the types of 'm.1' are not a list of names"),
        ('{"m.1": [],\n"m.1": []}', "types:2: 'm.1' stands twice"),
        ('{"m.1": []\n"m.2"}', "types:2: not JSON"),
        ("m.1\t/person\n\t/city\n", "types:2: the entity id is empty"),
        (" \n", "types: the file is empty"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "types"
    path.write_text(text)
    with pytest.raises(BadInputError, match=reason):
        read_entity_types(path)


def test_the_real_table_is_read() -> None:
    types = read_entity_types(shared("fbnyt/entity_types.json"))
    assert (len(types), sum(not names for names in types.values())) == (6_189, 382)
    assert len({name for names in types.values() for name in names}) == 73
