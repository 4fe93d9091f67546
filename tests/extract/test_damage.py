"""Changes to the files of an extraction between two runs are detected, and old folders are still read."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from extract.toy_corpus import EVERYTHING, sentences, write
from resealed import rewrite
from sayso.errors import BadInputError, UserError
from sayso.extract.run import Extraction, extract
from sayso.extract.settings import ExtractInputs
from sayso.facts.file import read_extracted


@pytest.fixture
def out(run: Path, tmp_path: Path) -> Path:
    go(run, tmp_path, "new")
    return tmp_path / "out"


def go(run: Path, folder: Path, mode: Any = "resume") -> Extraction:
    types = folder / "types.json"
    types.write_text('{"l0": ["/location/country"]}')
    corpus = folder / "corpus.jsonl"
    if not corpus.exists():
        write(corpus, sentences(range(2)))
    settings = replace(EVERYTHING, num_shards=0 if mode == "resume" else 4)
    return extract(ExtractInputs(run=run, corpus=corpus, types=types), settings, folder / "out", mode)


def test_another_number_of_shards_in_the_manifest_is_refused(run: Path, out: Path) -> None:
    text = (out / "manifest.json").read_text()
    (out / "manifest.json").write_text(text.replace('"num_shards": 4', '"num_shards": 3'))
    with pytest.raises(BadInputError, match="the checksum differs"):
        go(run, out.parent)
    rewrite(out / "manifest.json", num_shards=3)
    with pytest.raises(BadInputError, match="divided into 4 shards, but the manifest says 3: start over"):
        go(run, out.parent)
    for wrong in (0, -4, "4", 10**9):
        rewrite(out / "manifest.json", num_shards=wrong)
        with pytest.raises(BadInputError, match=r"not a valid extraction manifest \(num_shards"):
            go(run, out.parent)
    assert go(run, out.parent, "overwrite").manifest["num_shards"] == 4


def test_a_damaged_manifest_does_not_prevent_starting_over(run: Path, out: Path) -> None:
    (out / "manifest.json").write_text((out / "manifest.json").read_text()[:-20])
    with pytest.raises(BadInputError, match="damaged"):
        go(run, out.parent)
    assert list(go(run, out.parent, "overwrite"))


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("gathered/000000.json", {"sha256": None}, "not a valid piece record (sha256: missing)"),
        ("gathered/000000.json", {"num_good": "9"}, "num_good: expected an integer, got '9'"),
        ("gathered/000000.json", {"first_bad": [1]}, "first_bad: expected a list, got 1"),
        ("gathered/000000.json", {"piece": {}}, "piece.number: missing"),
        ("gathered/000000.json", {"colour": 1}, "colour: no such setting"),
    ],
)
def test_a_record_with_other_fields_is_refused(
    run: Path, out: Path, name: str, changes: dict[str, Any], message: str
) -> None:
    rewrite(out / name, **changes)
    with pytest.raises(BadInputError) as error:
        go(run, out.parent)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("first", ["", "{}", "null", "[1]", '{"number": 0}', "{" * 10_000, '{"number": 1e999}'])
def test_a_shard_with_a_damaged_first_line_is_refused(run: Path, out: Path, first: str) -> None:
    path = out / "shards" / "000000.jsonl"
    path.write_text(f"{first}\n" + path.read_text().partition("\n")[2])
    with pytest.raises(BadInputError, match=r"000000\.jsonl: not a valid file of facts"):
        go(run, out.parent)


@pytest.mark.parametrize("name", ["gathered/000000.lines", "gathered/000000.npy", "types/001.json"])
def test_a_changed_byte_is_found_when_it_is_read(run: Path, out: Path, name: str) -> None:
    data = bytearray((out / name).read_bytes())
    data[-30] ^= 1
    (out / name).write_bytes(data)
    write(out.parent / "corpus.jsonl", sentences(range(3)))
    with pytest.raises(UserError, match=rf"{name}.*(the checksum differs|not a valid )"):
        go(run, out.parent)


@pytest.mark.parametrize("place", [0, 6, 10, 20, 40, 71, 127, 128, -1])
def test_an_index_with_a_changed_byte_is_refused(run: Path, out: Path, place: int) -> None:
    data = bytearray((out / "gathered" / "000000.npy").read_bytes())
    data[place] ^= 0x42
    (out / "gathered" / "000000.npy").write_bytes(data)
    with pytest.raises(
        BadInputError, match=r"000000\.npy: .*(damaged|not a valid |the checksum differs).*: start over"
    ):
        go(run, out.parent)


def test_a_changed_fact_of_a_shard_or_of_the_result_is_found(run: Path, out: Path) -> None:
    for path in (out / "facts.jsonl", out / "shards" / "000000.jsonl"):
        text = path.read_text()
        path.write_text(text.replace("north_land", "south_land", 1))
        with pytest.raises(BadInputError, match=rf"{path.name}: damaged or changed since it was written"):
            list(go(run, out.parent) if path.parent.name == "shards" else read_extracted(path))
        path.write_text(text)


def test_a_copied_file_of_facts_may_be_changed(out: Path) -> None:
    (out.parent / "mine").mkdir()
    text = (out / "facts.jsonl").read_text()
    (out.parent / "mine" / "facts.jsonl").write_text(text.replace("north_land", "south_land", 1))
    assert list(read_extracted(out.parent / "mine" / "facts.jsonl"))


def test_a_folder_of_an_earlier_version_is_resumed(run: Path, out: Path) -> None:
    expected = [fact.to_dict() for fact in go(run, out.parent)]
    for path in (out / "manifest.json", out / "gathered" / "000000.json", out / "types" / "001.json"):
        record = json.loads(path.read_text())
        record = {name: value for name, value in record.items() if name not in ("checksum", "files")}
        if "piece" in record:
            record["piece"] = list(record["piece"].values())
        path.write_text(json.dumps(record.get("types", record)))
    index = np.load(out / "gathered" / "000000.npy")
    np.save(out / "gathered" / "000000.npy", index[0, :-1])
    for path in (out / "shards").iterdir():
        first, *facts, _ = path.read_text().splitlines()
        record = {name: value for name, value in json.loads(first).items() if name != "checksum"}
        record["num_judged"] = record.pop("num_predicted")
        path.write_text("\n".join([json.dumps(record), *facts]) + "\n")
    assert [fact.to_dict() for fact in go(run, out.parent)] == expected
    write(out.parent / "corpus.jsonl", sentences(range(3)))
    assert go(run, out.parent).manifest["num_predicted"] == 6
