import gzip
from pathlib import Path

import pytest

from readers.shared_data import shared
from sayso.errors import BadInputError
from sayso.facts.export import decision_lines
from sayso.readers.tables import FactDecision, read_decisions, read_entity_types, read_inventory, read_triples
from sayso.records import Relation, Triple
from toy_facts import make_decided


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


def facts_file(folder: Path, text: str) -> Path:
    path = folder / "kg.tsv"
    path.write_text(text)
    return path


def test_facts_come_in_order_including_repeated_ones(tmp_path: Path) -> None:
    facts = list(read_triples(facts_file(tmp_path, "a\tborn\tb\n\na\tborn\tb\nb\tin\tc\r\n")))
    assert facts == [("a", "born", "b"), ("a", "born", "b"), ("b", "in", "c")]


def test_gzip_is_read(tmp_path: Path) -> None:
    path = tmp_path / "kg.tsv.gz"
    path.write_bytes(gzip.compress(b"a\tborn\tb\n"))
    assert list(read_triples(path)) == [("a", "born", "b")]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("a born b", "expected 3 columns .*, got 1"),
        ("a\tb", "expected 3 columns .*, got 2"),
        ("a\tb\tc\td", "expected 3 columns .*, got 4"),
        ("a\t \tc", "is empty"),
        ("a\x1b[2J\tborn\tc", "control character"),
    ],
)
def test_a_bad_fact_is_named(tmp_path: Path, line: str, reason: str) -> None:
    with pytest.raises(BadInputError, match=rf"kg\.tsv:2: .*{reason}"):
        list(read_triples(facts_file(tmp_path, f"a\tborn\tb\n{line}\n")))


def test_facts_before_a_bad_line_have_come_already(tmp_path: Path) -> None:
    facts = read_triples(facts_file(tmp_path, "a\tborn\tb\nbad\n"))
    assert next(facts) == ("a", "born", "b")


def test_what_decisions_export_writes_is_read_back(tmp_path: Path) -> None:
    (tmp_path / "v.jsonl").write_text(decision_lines([make_decided(), make_decided(decision="rejected", reason="")]))
    fact = Triple("Q1030", "/location/country/capital", "Q3935")
    at = "2026-01-02T03:04:05.678+00:00"
    assert list(read_decisions(tmp_path / "v.jsonl")) == [
        FactDecision(fact, "accepted", "Ada", at, "the first sentence"),
        FactDecision(fact, "rejected", "Ada", at),
    ]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (
            '{"head": "a", "relation": "r", "tail": "b", "decision": "maybe"}',
            "'decision' is 'maybe'; it must be accepted",
        ),
        ('{"head": "a", "relation": "r", "decision": "accepted"}', "'tail' is missing"),
        ("accepted", "not JSON"),
    ],
)
def test_a_bad_decision_is_named(tmp_path: Path, line: str, fault: str) -> None:
    (tmp_path / "v.jsonl").write_text(f"\n{line}\n")
    with pytest.raises(BadInputError, match=rf"v\.jsonl:2: {fault}"):
        list(read_decisions(tmp_path / "v.jsonl"))


def test_a_file_of_an_earlier_version_is_read_with_a_note(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    line = '{"head": "a", "relation": "r", "tail": "b", "verdict": "accepted"}\n'
    (tmp_path / "old.jsonl").write_text(line * 2)
    assert {each.decision for each in read_decisions(tmp_path / "old.jsonl")} == {"accepted"}
    assert [record.getMessage() for record in caplog.records] == [
        f"{tmp_path / 'old.jsonl'}: written by sayso 0.1 ('verdict' is now called 'decision');"
        " sayso 0.3 will no longer read it"
    ]
