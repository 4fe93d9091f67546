import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from sayso.extract.forms import FORMS, ExportContext
from sayso.facts.fact import ExtractedFact
from sayso.readers.tables import read_triples
from sayso.records import Triple
from toy_facts import make_extracted

FACTS = [
    make_extracted(),
    make_extracted(tail_id="Q1", status="contradicts", contradicts=("Q3935",), quotes=()),
    make_extracted(head_id="m.05bcl"),
]
ABOUT = ExportContext(total=3, identity="one corpus", ids={})


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    for form in FORMS.values():
        form.write(tmp_path / form.file_name, iter(FACTS), ABOUT)
    return {name: tmp_path / form.file_name for name, form in FORMS.items()}


def test_json_lines_hold_everything(files: dict[str, Path]) -> None:
    assert [ExtractedFact.from_json(line) for line in files["jsonl"].read_text().splitlines()] == FACTS


def test_parquet_holds_the_same(files: dict[str, Path]) -> None:
    rows = pq.read_table(files["parquet"]).to_pylist()
    assert [ExtractedFact.from_json(json.dumps(row)) for row in rows] == FACTS


def test_parquet_says_which_entities_are_new(tmp_path: Path) -> None:
    facts = [make_extracted(tail_id="new:place/Windhoek"), make_extracted()]
    FORMS["parquet"].write(tmp_path / "x", facts, ABOUT)
    assert pq.read_table(tmp_path / "x")["new_entities"].to_pylist() == [["tail"], []]


def test_triples_are_read_back_as_a_knowledge_base(files: dict[str, Path]) -> None:
    assert next(read_triples(files["tsv"])) == Triple("Q1030", "P36", "Q3935")


def test_an_id_with_a_tab_is_left_out_of_triples(tmp_path: Path) -> None:
    facts = [make_extracted(head_id="a\tb"), make_extracted(relation="of\nthe"), make_extracted()]
    assert FORMS["tsv"].write(tmp_path / "x", facts, ABOUT) == 2
    assert (tmp_path / "x").read_text() == "Q1030\tP36\tQ3935\n"


def test_annotations_are_one_collection(files: dict[str, Path]) -> None:
    collection = json.loads(files["jsonld"].read_text())
    items = collection["first"]["items"]
    assert (collection["type"], collection["total"], len(items)) == ("AnnotationCollection", 3, 3)
    assert items[0]["body"][0]["rdf:subject"] == {"id": "urn:x-sayso:entity:Q1030", "label": "Namibia"}
    assert (items[0]["sayso:status"], items[0]["sayso:support"], items[0]["sayso:probability"]) == (
        "new",
        "one_sentence",
        0.97,
    )
    place = items[0]["target"][0]
    assert (place["source"], place["selector"]["start"], place["selector"]["end"]) == (
        "https://example.org/7",
        120,
        155,
    )
    assert place["selector"]["refinedBy"]["exact"] == "Windhoek is Namibia"
    assert len({item["id"] for item in items}) == 3


def test_facts_with_other_ids_are_left_out_of_quickstatements(files: dict[str, Path], tmp_path: Path) -> None:
    lines = files["quickstatements"].read_text().splitlines()
    assert [line.split("\t")[:3] for line in lines] == [["Q1030", "P36", "Q3935"]] * 2 + [["Q1030", "P36", "Q1"]]
    assert FORMS["quickstatements"].write(tmp_path / "x", FACTS, ABOUT) == 1
    known = ABOUT._replace(ids={"m.05bcl": "Q1030"})
    assert FORMS["quickstatements"].write(tmp_path / "x", FACTS, known) == 0
