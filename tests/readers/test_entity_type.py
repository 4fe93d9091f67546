import gzip
from pathlib import Path

import pytest

from readers.shared_data import shared
from sayso.errors import BadInputError
from sayso.readers.entity_type import read_entity_types

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
        ('{"m.1": "/person"}', "types: the types of 'm.1' are not a list of non-empty strings"),
        ('{"m.1": [3]}', "types: the types of 'm.1' are not a list of non-empty strings"),
        ('{"m.1": [],\n"m.1": []}', "types:2: 'm.1' appears twice"),
        ('{"m.1": []\n"m.2"}', "types:2: not JSON"),
        ('{"m.1": ["/per\\u0007son"]}', "types: .*control character"),
        ("m.1\t/person\n\t/city\n", "types:2: the entity id is empty"),
        (" \n", "types: contains no types"),
        ("{}", "types: contains no types"),
        ("[]", r'not a type table; expected {"id": \["/type", …\], …}, or tab-separated lines of an id and its types'),
        ("123", "types: not a type table"),
        ("m.1\t/born\tm.2\nm.2\t/within\tm.3\n", "contains facts, not types: its types are themselves entities"),
        ("m.1\t/lived\tm.2\n", "contains facts, not types: '/lived' is a relation"),
    ],
)
def test_the_error_says_what_is_wrong(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "types"
    path.write_text(text)
    with pytest.raises(BadInputError, match=reason):
        read_entity_types(path, relations=["/lived"])


def test_a_few_types_may_be_entities_of_the_table_themselves(tmp_path: Path) -> None:
    path = tmp_path / "types"
    path.write_text("".join(f"Q{number}\tQ1\n" for number in range(1, 21)))
    assert read_entity_types(path)["Q1"] == ("Q1",)


def test_the_real_table_is_read() -> None:
    types = read_entity_types(shared("fbnyt/entity_types.json"))
    assert (len(types), sum(not names for names in types.values())) == (6_189, 382)
    assert len({name for names in types.values() for name in names}) == 73
