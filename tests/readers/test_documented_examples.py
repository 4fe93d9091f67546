"""The examples in docs/data-format.md are read as the page says."""

import json
import re
from pathlib import Path

import pytest

from sayso.readers import READERS
from sayso.readers.base import BadLine
from sayso.readers.mark import read_eraser, read_mark_lines
from sayso.readers.tables import read_entity_types, read_inventory, read_triples

PAGE = (Path(__file__).parents[2] / "docs" / "data-format.md").read_text()


def examples(heading: str) -> list[str]:
    """Return the fenced examples under the heading that begins with these words."""
    section = next(part for part in PAGE.split("\n## ")[1:] if part.startswith(heading))
    return re.findall(r"```\w*\n(.*?)```", section, flags=re.DOTALL)


@pytest.mark.parametrize("form", READERS)
def test_sentences(form: str) -> None:
    lines = examples(f"`{form}`")[0].splitlines()
    assert READERS[form].recognises(lines[0])
    items = [item for _, item in READERS[form].read(enumerate(lines, 1))]
    assert items
    assert not [item for item in items if isinstance(item, BadLine)]


def test_rationales(tmp_path: Path) -> None:
    path = tmp_path / "marks.jsonl"
    path.write_text(examples("Rationales: JSON lines")[0])
    assert not [item for _, item in read_mark_lines(path) if isinstance(item, BadLine)]


def test_eraser(tmp_path: Path) -> None:
    annotations, documents = examples("Rationales: ERASER")
    (tmp_path / "val.jsonl").write_text(annotations)
    (tmp_path / "docs.jsonl").write_text(documents)
    marks = [item for _, item in read_eraser(tmp_path / "val.jsonl") if not isinstance(item, BadLine)]
    assert [(mark.label, mark.annotator) for mark in marks] == [("rationale", "kim"), ("irrelevant", "kim")]


@pytest.mark.parametrize("index", range(4))
def test_inventories(tmp_path: Path, index: int) -> None:
    path = tmp_path / "relations"
    path.write_text(examples("Relations")[index])
    assert "/location/country/capital" in {relation.name for relation in read_inventory(path)}


def test_types_are_the_same_in_both_forms(tmp_path: Path) -> None:
    as_json, as_lines = examples("Entity types")
    path = tmp_path / "types"
    path.write_text(as_lines)
    assert read_entity_types(path) == {entity: tuple(types) for entity, types in json.loads(as_json).items()}


def test_triples(tmp_path: Path) -> None:
    path = tmp_path / "kg.tsv"
    path.write_text(examples("Knowledge-graph triples")[0])
    assert len(list(read_triples(path))) == 2
