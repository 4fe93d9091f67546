from pathlib import Path

import pytest

from sayso.errors import BadInputError
from sayso.metrics.rationale import IRRELEVANT, NEITHER, RATIONALE
from sayso.store.marks import marks_of_files, marks_of_store
from sayso.store.store import Store
from toy_evaluation import evaluation_lines, mark_line
from toy_fixtures import store as store


def test_the_stores_marks_are_those_of_the_file_it_was_made_with(store: Store) -> None:
    of_store = marks_of_store(store, "test")
    of_file = marks_of_files([store.folder.parent / "marks.jsonl"], store, store.part("test"))
    assert of_store.by_sentence == of_file.by_sentence
    assert sorted(of_store.by_sentence.values()) == [IRRELEVANT] * 12 + [RATIONALE] * 6


def test_only_test_sentences_have_marks_in_a_store(store: Store) -> None:
    assert marks_of_store(store, "validation").by_sentence == {}


def test_unknown_pairs_relations_and_sentences_are_counted_and_listed(store: Store, tmp_path: Path) -> None:
    line = evaluation_lines()[0]
    path = tmp_path / "marks.jsonl"
    marks = [
        mark_line(line, "rationale"),
        mark_line(line, "rationale", head="nobody"),
        mark_line(line, "rationale", relation="/made/up"),
        mark_line(line, "rationale", sentence="another sentence"),
        "{not json",
    ]
    path.write_text("\n".join(marks) + "\n")
    found = marks_of_files([path], store, store.part("test"))
    assert len(found.by_sentence) == 1
    assert (found.report["num_matched"], found.report["num_unmatched"]) == (1, 4)
    listed = "\n".join(found.report["first_unmatched"])
    for wanted in (
        ":2: no test bag for the pair 'nobody'",
        ":3: relation '/made/up'",
        ":4: the bag has no such",
        ":5:",
    ):
        assert wanted in listed


def test_a_csv_file_instead_of_marks_is_refused_with_the_expected_format(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "marks.csv"
    path.write_text("head,relation,tail,sentence,label,annotator\na,r,b,a and b,rationale,kim\n")
    with pytest.raises(
        BadInputError, match=r"marks\.csv:1: .*annotations export` writes both \(--format jsonl or eraser\)"
    ):
        marks_of_files([path], store, store.part("test"))


def test_a_reason_that_is_counted_names_the_key_at_fault(store: Store, tmp_path: Path) -> None:
    line, path = evaluation_lines()[0], tmp_path / "marks.jsonl"
    path.write_text("\n".join([mark_line(line, "rationale"), '{"head": {}}', mark_line(line, "x", head="me")]) + "\n")
    found = marks_of_files([path], store, store.part("test"))
    assert found.report["reasons"] == {
        "'head' is an object, not a string": 1,
        "no test bag for the pair '…', '…'": 1,
    }


def test_the_majority_of_several_people_counts_and_an_even_vote_is_neither(store: Store, tmp_path: Path) -> None:
    lines, path = evaluation_lines(), tmp_path / "marks.jsonl"
    votes = [(lines[0], "rationale"), (lines[0], "rationale"), (lines[0], "irrelevant")]
    votes += [(lines[1], "rationale"), (lines[1], "irrelevant"), (lines[2], "unsure")]
    path.write_text("\n".join(mark_line(line, label, by=str(i)) for i, (line, label) in enumerate(votes)) + "\n")
    found = marks_of_files([path], store, store.part("test"))
    assert sorted(found.by_sentence.values()) == [NEITHER, NEITHER, RATIONALE]
