from sayso.annotate import disagreement
from sayso.annotate import fact_work as work
from sayso.annotate.marks import each_mark, save_marks, settled_marks
from sayso.annotate.people import KNOWN, annotator_named
from sayso.annotate.pilot import answers_of_database
from sayso.annotate.store import Connection
from sayso.records import Mark, Triple

FACT = Triple("h", "capital", "t")


def judged(sentence: str, label: str, annotator: str) -> Mark:
    return Mark("h", "t", "capital", sentence, label, annotator)


MARKS = [
    judged("one", "rationale", "Ada"),
    judged("two", "irrelevant", "Ada"),
    judged("one", "rationale", "Ben"),
    judged("two", "rationale", "Ben"),
]


def test_what_comes_in_goes_out_the_same(connection: Connection) -> None:
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


def test_a_later_mark_of_the_same_person_holds(connection: Connection) -> None:
    save_marks(connection, MARKS)
    save_marks(connection, [judged("two", "rationale", "Ada")])
    labels = work.work_of(connection, annotator_named(connection, "Ada").id, FACT).labels
    assert labels == {"one": "rationale", "two": "rationale"}


def test_known_answers_are_nobodys_work(connection: Connection) -> None:
    save_marks(connection, MARKS[:2], is_known=True)
    assert list(each_mark(connection)) == []
    assert answers_of_database(connection) == {FACT: {"one": "rationale", "two": "irrelevant"}}
    assert work.work_of(connection, KNOWN, FACT).labels == {"one": "rationale", "two": "irrelevant"}


def test_unfinished_work_does_not_go_out(connection: Connection) -> None:
    work.mark(connection, annotator_named(connection, "Ada"), FACT, {"one": "rationale"}, "key")
    assert list(each_mark(connection)) == []
