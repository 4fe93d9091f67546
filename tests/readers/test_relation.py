from pathlib import Path

import pytest

from readers.shared_data import shared
from sayso.errors import BadInputError
from sayso.readers.relation import read_inventory
from sayso.records import Relation


def written(folder: Path, text: str) -> Path:
    path = folder / "relations"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "text",
    [
        "3\nNA 0\n/born 1\n/lived 2\n",
        "3\r\n/born\t2\r\nNA\t0\r\n/lived\t1\r\n\r\n",
        '{"NA": 0, "/born": 1,\n "/lived": 2}',
        "name\n/born\n/lived\n",
        '{"name": "/born"}\n\n{"name": "/lived"}\n{"name": "no_relation"}\n',
    ],
    ids=["nre", "nre windows", "opennre", "table", "json lines"],
)
def test_every_form_gives_the_relations_in_file_order_without_na(tmp_path: Path, text: str) -> None:
    assert read_inventory(written(tmp_path, text)) == [Relation("/born"), Relation("/lived")]


@pytest.mark.parametrize(
    "text",
    [
        "name\tdefinition\texample\tfunctional\n"
        "/born\twhere one was born\tA was born in B\tyes\n/lived\twhere one lived\n",
        '{"name": "/born", "definition": "where one was born", "example": "A was born in B", "functional": true}\n'
        '{"name": "/lived", "definition": "where one lived"}\n',
    ],
    ids=["table", "json lines"],
)
def test_what_a_relation_means_is_kept(tmp_path: Path, text: str) -> None:
    assert read_inventory(written(tmp_path, text)) == [
        Relation("/born", "where one was born", "A was born in B", True),
        Relation("/lived", "where one lived"),
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("3\nNA 0\n/born 1\n", ":1: declares 3 relations, but the file lists 2"),
        ("2\n/born 0\n/born 1\n", ":3: relation '/born' is already on line 2"),
        ("2\n/born 0\n/lived 0\n", ":3: id 0 is already on line 2"),
        ("2\n/born 0\n/lived 2\n", ":3: id 2 is out of range"),
        ("2\n/born 0\n/lived\n", ":3: expected a relation's name and its id"),
        ("2\n/born 0\n/lived 99999999999\n", ":3: expected a relation's name and its id"),
        ('{"/born": 0,\n"/born": 1}', ":2: '/born' appears twice"),
        ('{"/born": 0,\n"/lived": 2}', ":2: id 2 is out of range"),
        ('{"/born": 0,\n"/lived": "1"}', ":2: the id of '/lived' is not an integer"),
        ('{"/born": 0', ":1: not JSON"),
        (
            "name\tmeaning\n/born\tx\n",
            ":1: expected a tab-separated header with the columns name, definition, example, functional",
        ),
        ("/born\n/lived\n", ":1: expected a tab-separated header with the columns"),
        ("name\n/born\n/born\n", ":3: relation '/born' is already on line 2"),
        ("name\n/born\tmore\n", ":2: got 2 columns, but the header has 1"),
        ("name\tfunctional\n/born\tmaybe\n", ":2: 'functional' is 'maybe'"),
        ("name\tdefinition\n\tx\n", ":2: the relation's name is empty"),
        ('{"name": "/born"}\n{"name": 3}\n', ":2: 'name' is a number"),
        ('{"name": "/born"}\n{"name": "/x", "functional": 1}\n', ":2: 'functional' is not true or false"),
        ("1\nNA 0\n", ": contains no relations"),
        ("", ": contains no relations"),
    ],
)
def test_the_error_says_what_is_wrong_and_on_which_line(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(BadInputError) as raised:
        read_inventory(written(tmp_path, text))
    assert reason in str(raised.value)
    assert str(raised.value).startswith(str(tmp_path / "relations"))


def test_the_real_inventory_has_52_relations() -> None:
    assert len(read_inventory(shared("fbnyt/relation2id.txt"))) == 52
