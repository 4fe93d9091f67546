from pathlib import Path

import pytest

from sayso.documents.document import Document, LeftOut
from sayso.documents.intake import Intake
from sayso.errors import BadInputError


def taken(intake: Intake, *items: Document | LeftOut, there: dict[str, str] | None = None) -> list[str]:
    return [document.text for document in intake.new_ones(items, {} if there is None else there)]


def test_what_is_there_is_passed_over_and_what_has_changed_is_named() -> None:
    intake, there = Intake(), {"a": Document("a", "one").fingerprint, "b": "other"}
    assert taken(intake, Document("a", "one"), Document("b", "two"), Document("c", "three"), there=there) == ["three"]
    assert (intake.num_new, intake.num_already_there, intake.num_changed, intake.changed) == (1, 1, 1, ["b"])


def test_an_id_that_stands_twice_is_taken_once() -> None:
    intake = Intake()
    assert taken(intake, Document("a", "one"), Document("a", "one"), Document("a", "two")) == ["one"]
    assert (intake.num_already_there, intake.changed) == (1, ["a"])


def test_kinds_of_faults_are_counted_whatever_their_numbers() -> None:
    intake = Intake()
    taken(
        intake,
        LeftOut("x:1", "byte 3 is not UTF-8"),
        LeftOut("x:2", "byte 1,999 is not UTF-8"),
        LeftOut("x:3", "mention [0, 30] lies outside"),
        LeftOut("x:4", "'id' is missing"),
    )
    assert intake.left_out == {"byte … is not UTF-8": 2, "mention […, …] lies outside": 1, "'id' is missing": 1}
    assert intake.first_bad[1] == "x:2: byte 1,999 is not UTF-8"


def test_too_many_unusable_documents_are_refused_but_empty_ones_are_no_fault() -> None:
    intake = Intake()
    taken(intake, Document("a", "one"), LeftOut("y", "empty", is_fault=False), LeftOut("x", "bad"))
    with pytest.raises(
        BadInputError, match=r"docs: 1 of 2 documents cannot be used, more than 5%.*the first is x: bad"
    ):
        intake.refuse_too_many_left_out(Path("docs"), 0.05)
    intake.refuse_too_many_left_out(Path("docs"), 0.5)


def test_no_usable_document_is_refused_whatever_is_allowed() -> None:
    intake = Intake()
    with pytest.raises(BadInputError, match="docs: holds no documents"):
        intake.refuse_too_many_left_out(Path("docs"), 1.0)
    taken(intake, LeftOut("y", "empty", is_fault=False))
    with pytest.raises(BadInputError, match="no document in it can be used; the first is y: empty"):
        intake.refuse_too_many_left_out(Path("docs"), 1.0)
