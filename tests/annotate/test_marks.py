from pathlib import Path

import pytest

from sayso.annotate import agreement as disagreement
from sayso.annotate import marking as work
from sayso.annotate.assignment import hold
from sayso.annotate.marking import comment, flag_wrong, mark, submit
from sayso.annotate.marks import (
    FactComment,
    comment_lines,
    each_mark,
    fact_comments,
    holds_comments,
    read_comments,
    save_comments,
    save_marks,
    settled_marks,
)
from sayso.annotate.people import KNOWN, Annotator, annotator_named
from sayso.annotate.pilot import known_answers_of_database, set_pilot
from sayso.annotate.store import Connection
from sayso.errors import BadInputError
from sayso.records import Mark, Triple

FACT, OTHER = Triple("h", "capital", "t"), Triple("h", "born", "t")


def judged(sentence: str, label: str, annotator: str) -> Mark:
    return Mark("h", "t", "capital", sentence, label, annotator)


MARKS = [
    judged("one", "rationale", "Ada"),
    judged("two", "irrelevant", "Ada"),
    judged("one", "rationale", "Ben"),
    judged("two", "rationale", "Ben"),
]


def test_imported_marks_are_exported_unchanged(connection: Connection) -> None:
    assert save_marks(connection, MARKS) == (4, 2, 1)
    assert sorted(each_mark(connection)) == sorted(MARKS)


def test_one_mark_a_sentence_is_the_majoritys_or_what_was_settled(connection: Connection) -> None:
    save_marks(connection, MARKS)
    assert {each.sentence: each.label for each in settled_marks(connection)} == {
        "one": "rationale",
        "two": "unsure",
    }
    disagreement.settle(connection, annotator_named(connection, "Cleo"), FACT, "two", "irrelevant", "key")
    settled = list(settled_marks(connection))
    assert {each.sentence: each.label for each in settled} == {"one": "rationale", "two": "irrelevant"}
    assert {each.annotator for each in settled} == {""}


def test_a_later_mark_by_the_same_person_counts(connection: Connection) -> None:
    save_marks(connection, MARKS)
    save_marks(connection, [judged("two", "rationale", "Ada")])
    labels = work.work_of(connection, annotator_named(connection, "Ada").id, FACT).labels
    assert labels == {"one": "rationale", "two": "rationale"}


def test_known_answers_belong_to_no_annotator(connection: Connection) -> None:
    save_marks(connection, MARKS[:2], is_known=True)
    assert list(each_mark(connection)) == []
    assert known_answers_of_database(connection) == {FACT: {"one": "rationale", "two": "irrelevant"}}
    assert work.work_of(connection, KNOWN, FACT).labels == {"one": "rationale", "two": "irrelevant"}


def test_unfinished_work_does_not_go_out(connection: Connection) -> None:
    work.mark(connection, annotator_named(connection, "Ada"), FACT, {"one": "rationale"}, "key")
    assert list(each_mark(connection)) == []


def annotate(connection: Connection, who: Annotator, fact: Triple) -> None:
    hold(connection, who, fact)
    mark(connection, who, fact, {"a": "irrelevant"}, f"mark {fact} {who.id}")
    submit(connection, who, fact, ["a"], f"submit {fact} {who.id}")


def test_only_comments_on_submitted_facts_are_exported(connection: Connection) -> None:
    ada, ben = (annotator_named(connection, name) for name in ("Ada", "Ben"))
    comment(connection, ada, FACT, "odd", "key 1")
    flag_wrong(connection, ben, FACT, True, "key 2")
    assert fact_comments(connection) == []
    annotate(connection, ada, FACT)
    assert fact_comments(connection) == [FactComment(FACT, "Ada", "odd", False)]
    annotate(connection, ben, FACT)
    assert fact_comments(connection) == [FactComment(FACT, "Ada", "odd", False), FactComment(FACT, "Ben", "", True)]
    assert fact_comments(connection, {OTHER}) == []


def test_remarks_go_out_and_into_another_database_the_same(connection: Connection, tmp_path: Path) -> None:
    said = [FactComment(FACT, "Ada", 'two\nlines, "quoted"', True), FactComment(OTHER, "Ben", "ö", False)]
    path = tmp_path / "fact_comments.jsonl"
    path.write_text("".join(comment_lines(said)), encoding="utf-8")
    assert holds_comments(path)
    save_comments(connection, read_comments(path))
    assert fact_comments(connection) == said
    comment(connection, annotator_named(connection, "Ada"), FACT, "not submitted", "key 1")
    assert [each.comment for each in fact_comments(connection)] == ["", "ö"]


def test_marks_are_no_remarks_and_a_bad_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "marks.jsonl"
    path.write_text('{"head": "h", "tail": "t", "relation": "r", "sentence": "s", "label": "unsure"}\n')
    assert not holds_comments(path)
    path.write_text('{"head": "h", "tail": "t", "relation": "r", "comment": "", "is_wrong": "yes"}\n')
    with pytest.raises(BadInputError, match=r"marks\.jsonl:1: 'is_wrong' must be true or false"):
        list(read_comments(path))


def test_the_pilot_round_is_left_out(connection: Connection) -> None:
    ada = annotator_named(connection, "Ada")
    set_pilot(connection, ada, [FACT], {FACT: {"a": "irrelevant"}}, "key 2")
    comment(connection, ada, FACT, "odd", "key 1")
    annotate(connection, ada, FACT)
    assert fact_comments(connection) == []


def test_comments_on_finished_work_are_kept_when_the_pilot_round_changes(connection: Connection) -> None:
    ada = annotator_named(connection, "Ada")
    comment(connection, ada, FACT, "odd", "key 1")
    annotate(connection, ada, FACT)
    for number, facts in enumerate(([FACT], [])):
        set_pilot(connection, ada, facts, {FACT: {"a": "irrelevant"}}, f"round {number}")
        assert fact_comments(connection) == [FactComment(FACT, "Ada", "odd", False)]
