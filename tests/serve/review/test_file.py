import json
from pathlib import Path

import pytest

from sayso.errors import BadInputError
from sayso.facts.file import facts_file
from sayso.serve.review.file import ExtractedFile
from sayso.serve.review.table import ReviewQuery
from toy_extraction import FACTS, KNOWN, NEW, write_found, write_found_manifest

LINE = KNOWN.to_json()


def changed(**values: object) -> str:
    return json.dumps(KNOWN.to_dict() | values)


def test_facts_that_have_a_verdict_instead_of_support_are_listed_and_shown(tmp_path: Path) -> None:
    record = KNOWN.to_dict()
    record["verdict"] = record.pop("support") | {"kind": "stated", "num_smallest": 2}
    (tmp_path / "facts.jsonl").write_text(json.dumps(record) + "\n")
    file = ExtractedFile("news", tmp_path / "facts.jsonl")
    assert file.index.page(ReviewQuery()).rows[0].support == file.fact(0).support.kind == "sentences_together"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "nested too deep"),
        ('{"head": "Q1"}', "'relation' is missing"),
        (changed(probability="high"), "probability"),
        (changed(probability=None), "'probability' is null"),
        (changed(evidence=[{"rank": 1}]), "document"),
        (changed(evidence=[KNOWN.to_dict()["evidence"][0] | {"score": "much"}]), "score"),
        (changed(head_name="\ud800"), "character"),
        ("", "not JSON"),
    ],
)
def test_a_first_line_that_is_not_a_fact_is_reported_on_opening(tmp_path: Path, line: str, reason: str) -> None:
    path = tmp_path / "facts.jsonl"
    path.write_text(f"{line}\n{LINE}\n")
    with pytest.raises(
        BadInputError, match=r"facts.jsonl:1: not a fact written by `sayso extract --format jsonl` \(.*"
    ) as told:
        ExtractedFile("news", path)
    assert reason in str(told.value)


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_a_file_without_facts_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "facts.jsonl").write_text(text)
    with pytest.raises(BadInputError, match=r"facts\.jsonl: contains no facts"):
        ExtractedFile("news", tmp_path / "facts.jsonl")


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "",
        changed(status="perhaps"),
        changed(probability=float("nan")),
        changed(num_sentences=-1),
        changed(evidence=[KNOWN.to_dict()["evidence"][0] | {"score": float("nan")}]),
        changed(evidence=[KNOWN.to_dict()["evidence"][0] | {"rank": 1.5}]),
        changed(head_name=None),
        changed(tail="Q1\tP36\nQ2"),
        changed(evidence=[KNOWN.to_dict()["evidence"][0] | {"document": {"id": "a\nb", "start": 0, "stop": 9}}]),
        changed(support="one_sentence"),
        changed(head=7),
    ],
)
def test_a_later_line_that_is_not_a_fact_is_reported_when_the_table_is_read(tmp_path: Path, line: str) -> None:
    path = tmp_path / "facts.jsonl"
    path.write_text(f"{LINE}\n{line}\n")
    file = ExtractedFile("news", path)
    with pytest.raises(BadInputError, match=r"facts\.jsonl:2: not a fact"):
        _ = file.index


def test_bytes_that_are_not_text_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "facts.jsonl"
    path.write_bytes(LINE.encode() + b"\n\xff\n")
    with pytest.raises(BadInputError, match=r"facts\.jsonl:2: not a fact"):
        _ = ExtractedFile("news", path).index


def test_a_file_that_changed_while_open_is_reported(tmp_path: Path) -> None:
    file = ExtractedFile("news", facts_file(write_found(tmp_path / "news")))
    assert file.fact(2) == FACTS[2]
    file.path.write_text("".join(f"{fact.to_json()}\n" for fact in (NEW[0], *FACTS)))
    with pytest.raises(BadInputError, match="the file has changed since it was read"):
        file.fact(0)
    file.path.write_text("")
    with pytest.raises(BadInputError, match="the file has changed since it was read"):
        file.fact(2)


def test_a_folder_without_facts_and_a_compressed_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"there is no facts\.jsonl here"):
        facts_file(tmp_path)
    with pytest.raises(BadInputError, match="decompress it"):
        ExtractedFile("news", tmp_path / "facts.jsonl.gz")
    with pytest.raises(BadInputError, match="no such file"):
        ExtractedFile("news", facts_file(tmp_path / "nowhere.jsonl"))
    (tmp_path / "facts.jsonl").touch()
    with pytest.raises(BadInputError, match=r"facts\.jsonl: contains no facts"):
        ExtractedFile("news", facts_file(tmp_path))


def test_windows_line_ends_and_a_missing_last_one_are_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    path.write_bytes("\r\n".join(fact.to_json() for fact in FACTS).encode())
    file = ExtractedFile("some", path)
    assert [file.fact(row) for row in range(file.index.num_facts)] == list(FACTS)


def test_the_threshold_is_that_of_the_extraction_and_unknown_without_its_manifest(tmp_path: Path) -> None:
    folder = write_found(tmp_path / "news")
    file = ExtractedFile("news", facts_file(folder))
    assert (file.threshold, file.threshold_note) == (None, "")
    write_found_manifest(folder, threshold=0.85)
    file = ExtractedFile("news", facts_file(folder))
    assert file.threshold == 0.85
    assert file.threshold_note == "Threshold 0.85; the precision of these facts was not measured."


def test_relations_with_thresholds_of_their_own_keep_them_and_the_note_says_what_to_expect(tmp_path: Path) -> None:
    folder = write_found(tmp_path / "news")
    chosen = {"measured_on": "withheld facts", "wanted_precision": 0.8, "precision": 0.78, "interval": [0.7, 0.9]}
    write_found_manifest(
        folder, threshold=0.6, thresholds={"born_in": 0.3}, threshold_chosen={**chosen, "assumption": "assuming much"}
    )
    file = ExtractedFile("news", facts_file(folder))
    assert (file.threshold_of("born_in"), file.threshold_of("capital_of")) == (0.3, 0.6)
    expected = "expect 0.78 (90 %: 0.70 to 0.90) of the new facts to be right, assuming much."
    assert file.threshold_note == f"Thresholds for a precision of 0.8: {expected}"
