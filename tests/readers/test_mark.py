import json
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readers.shared_data import shared
from readers.strategies import ids, json_records, labels, marks, sentence_texts
from sayso.errors import BadInputError, UserError
from sayso.io.folder import locked
from sayso.readers.base import BadLine, BadLineError
from sayso.readers.mark import parse, read_eraser, read_mark_lines, write_eraser, write_mark
from sayso.records import Mark

LINE = (
    '{"head": "m.1", "tail": "m.2", "relation": "/born", "sentence": "ana in rome", "label": "irrelevant", "by": "kim"}'
)


@given(mark=marks)
def test_round_trip_preserves_everything(mark: Mark) -> None:
    line = write_mark(mark)
    assert "\n" not in line
    assert parse(line) == mark


def test_bad_lines_are_reported_by_number_and_the_others_read(tmp_path: Path) -> None:
    path = tmp_path / "marks.jsonl"
    path.write_bytes(b"\n".join([LINE.encode(), b"", b"\xff", b'{"head": 3}', LINE.encode()]))
    expected = Mark("m.1", "m.2", "/born", "ana in rome", "irrelevant", "kim")
    assert list(read_mark_lines(path)) == [
        (1, expected),
        (3, BadLine("byte 1 of the line is not UTF-8")),
        (4, BadLine("'head' is a number, not a string")),
        (5, expected),
    ]


@given(record=json_records, text=st.text())
def test_no_text_raises_anything_but_a_bad_line(record: dict[str, object], text: str) -> None:
    for line in (str(record).replace("'", '"'), text):
        with suppress(BadLineError):
            assert isinstance(parse(line), Mark)


def test_the_real_marks_are_read() -> None:
    items = [item for _, item in read_mark_lines(shared("fbnyt/rationales.jsonl"))]
    assert len(items) == 1_946
    assert {item.label for item in items if isinstance(item, Mark)} == {"rationale", "irrelevant"}


DOCUMENT = "ana was born in rome\nana likes rome\nrome awaits ana"
ANNOTATION = {
    "annotation_id": "a1",
    "classification": "true",
    "query": "/born",
    "query_type": None,
    "docids": None,
    "evidences": [
        [{"docid": "m.1|m.2", "start_sentence": 0, "end_sentence": 1, "start_token": 0, "end_token": 5, "text": ""}]
    ],
}


def evidence(**changes: object) -> list[list[dict[str, object]]]:
    return [[{"docid": "m.1|m.2", **changes}]]


def folder_with(folder: Path, *annotations: object, document: str = DOCUMENT) -> Path:
    (folder / "docs.jsonl").write_text(json.dumps({"docid": "m.1|m.2", "document": document}) + "\n")
    path = folder / "val.jsonl"
    path.write_text("".join(json.dumps(annotation) + "\n" for annotation in annotations))
    return path


def labels_in_eraser(path: Path) -> list[str]:
    return [item.label if isinstance(item, Mark) else item.reason for _, item in read_eraser(path)]


def test_sentences_in_an_evidence_are_rationale_and_the_others_irrelevant(tmp_path: Path) -> None:
    items = list(read_eraser(folder_with(tmp_path, ANNOTATION)))
    assert items == [
        (1, Mark("m.1", "m.2", "/born", "ana was born in rome", "rationale")),
        (1, Mark("m.1", "m.2", "/born", "ana likes rome", "irrelevant")),
        (1, Mark("m.1", "m.2", "/born", "rome awaits ana", "irrelevant")),
    ]


def test_without_sentence_offsets_the_token_offsets_are_used(tmp_path: Path) -> None:
    path = folder_with(tmp_path, {**ANNOTATION, "evidences": evidence(start_token=6, end_token=9)})
    assert labels_in_eraser(path) == ["irrelevant", "rationale", "rationale"]


def test_a_line_without_evidence_is_about_the_document_of_its_own_name(tmp_path: Path) -> None:
    path = folder_with(tmp_path, {**ANNOTATION, "annotation_id": "m.1|m.2", "evidences": []})
    assert labels_in_eraser(path) == ["irrelevant"] * 3


def test_documents_may_be_files_in_a_folder(tmp_path: Path) -> None:
    path = folder_with(tmp_path, ANNOTATION)
    (tmp_path / "docs.jsonl").unlink()
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "m.1|m.2").write_text(DOCUMENT.replace("\n", "\n\n"))
    assert labels_in_eraser(path) == ["rationale", "irrelevant", "irrelevant"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"query": 3}, "'query' is a number"),
        ({"evidences": 3}, "'evidences' is not a list of lists"),
        ({"evidences": [[3]]}, "an entry of 'evidences' is not an object"),
        ({"evidences": [[{}]]}, "'docid' is missing"),
        ({"evidences": evidence(start_sentence=2, end_sentence=9)}, "evidence [2, 9] lies outside the 3 sentences"),
        ({"evidences": evidence(start_token=2, end_token=99)}, "evidence [2, 99] lies outside the 11 tokens"),
        ({"evidences": evidence(start_sentence="x")}, "evidence is not a pair of integers [start, stop]"),
        ({"evidences": [], "docids": ["other|m.2"]}, "document 'other|m.2' is not in docs.jsonl"),
        ({"evidences": [], "docids": ["posR_003.txt"]}, "does not have the form HEAD|TAIL"),
        ({"evidences": [], "docids": 7}, "'docids' is not a list of strings"),
    ],
)
def test_a_bad_line_is_one_bad_line_and_the_next_is_read(
    tmp_path: Path, changes: dict[str, object], reason: str
) -> None:
    bad, *good = list(read_eraser(folder_with(tmp_path, {**ANNOTATION, **changes}, ANNOTATION)))
    assert isinstance(bad[1], BadLine)
    assert reason in bad[1].reason
    assert [number for number, _ in good] == [2, 2, 2]


def test_a_document_outside_the_folder_is_not_read(tmp_path: Path) -> None:
    path = folder_with(tmp_path, {**ANNOTATION, "docids": ["../x|y"], "evidences": []})
    (tmp_path / "docs.jsonl").unlink()
    (tmp_path / "docs").mkdir()
    (tmp_path / "x|y").write_text(DOCUMENT)
    assert labels_in_eraser(path) == ["document '../x|y' is not in the folder docs"]


def test_missing_or_broken_documents_stop_the_reading(tmp_path: Path) -> None:
    path = folder_with(tmp_path, ANNOTATION)
    (tmp_path / "docs.jsonl").write_text('{"docid": "d", "document": "x"}\n{"docid": "d", "document": "y"}\n')
    with pytest.raises(BadInputError, match=r"docs\.jsonl:2: document 'd' appears twice"):
        read_eraser(path)
    (tmp_path / "docs.jsonl").unlink()
    with pytest.raises(BadInputError, match=r"no documents found; expected docs\.jsonl or a folder named docs"):
        read_eraser(path)


few = st.sampled_from(["a", "b|c", "%7C"])
marks = (
    marks
    | st.builds(Mark, few, few, few, st.sampled_from(["x y", "y", "z"]), labels, few)
    | st.builds(Mark, ids, ids, ids, sentence_texts, labels, st.just(""))
)


@settings(max_examples=40)
@given(marks=st.lists(marks, max_size=12))
def test_round_trip_in_eraser_preserves_everything(marks: list[Mark]) -> None:
    last = {(*mark[:4], mark.annotator): mark for mark in marks if mark.label != "unsure"}
    with tempfile.TemporaryDirectory() as folder:
        num_left_out = write_eraser(Path(folder), marks)
        if last:
            back = [item for _, item in read_eraser(Path(folder) / "rationales.jsonl")]
            assert sorted(back) == sorted(last.values())
    assert num_left_out == sum(mark.label == "unsure" for mark in marks)


def test_relations_share_a_document_only_if_the_same_sentences_were_marked(tmp_path: Path) -> None:
    write_eraser(
        tmp_path,
        [
            Mark("1", "2", "/born", "x", "rationale"),
            Mark("1", "2", "/born", "y", "irrelevant"),
            Mark("1", "2", "/lived", "y", "rationale"),
            Mark("1", "2", "/lived", "x", "irrelevant"),
            Mark("1", "2", "/died", "x", "irrelevant"),
        ],
    )
    documents = [json.loads(line)["docid"] for line in (tmp_path / "docs.jsonl").read_text().splitlines()]
    assert documents == ["1|2", "1|2|2"]
    annotations = [json.loads(line) for line in (tmp_path / "rationales.jsonl").read_text().splitlines()]
    assert [annotation["docids"] for annotation in annotations] == [["1|2"], ["1|2"], ["1|2|2"]]
    assert annotations[1]["evidences"][0][0]["start_sentence"] == 1


@pytest.mark.parametrize("name", ["é" * 200, "a\0b", "x/" * 3000])
def test_an_id_that_is_not_a_valid_file_name_is_a_bad_line(tmp_path: Path, name: str) -> None:
    path = folder_with(tmp_path, {**ANNOTATION, "evidences": [], "docids": [f"{name}|m.2"]})
    (tmp_path / "docs.jsonl").unlink()
    (tmp_path / "docs").mkdir()
    (reason,) = labels_in_eraser(path)
    assert reason.endswith("is not in the folder docs")


def test_two_exports_never_mix_in_one_folder(tmp_path: Path) -> None:
    with locked(tmp_path, "sayso annotations export"), pytest.raises(UserError, match="is running in this folder"):
        write_eraser(tmp_path, [Mark("h", "t", "r", "h met t", "rationale", "ann")])
    assert list(tmp_path.iterdir()) == []
