import pytest

from sayso.annotate import disagreement
from sayso.annotate import fact_work as work
from sayso.annotate.people import annotator_named
from sayso.annotate.store import Connection
from sayso.errors import UserError
from sayso.records import Triple

FACT = Triple("h", "capital", "t")


def mark_all(connection: Connection, name: str, is_submitted: bool = True, **labels: str) -> None:
    person = annotator_named(connection, name)
    work.mark(connection, person, FACT, labels, f"mark {name}")
    if is_submitted:
        work.submit(connection, person, FACT, list(labels), f"submit {name}")


def test_nobodys_marks_are_shown_before_enough_people_have_submitted(connection: Connection) -> None:
    mark_all(connection, "Ada", one="rationale")
    mark_all(connection, "Ben", is_submitted=False, one="irrelevant")
    assert disagreement.disagreements(connection, 2) == {}
    work.submit(connection, annotator_named(connection, "Ben"), FACT, ["one"], "now")
    assert list(disagreement.disagreements(connection, 2)) == [FACT]
    assert disagreement.disagreements(connection, 3) == {}


def test_only_sentences_with_different_marks_are_disputed(connection: Connection) -> None:
    mark_all(connection, "Ada", one="rationale", two="rationale")
    mark_all(connection, "Ben", one="rationale", two="unsure")
    (disputed,) = disagreement.disagreements(connection, 2)[FACT]
    assert disputed.sentence == "two"
    assert disputed.labels == (("Ada", "rationale"), ("Ben", "unsure"))


def test_what_was_settled_is_kept_and_can_be_undone(connection: Connection) -> None:
    mark_all(connection, "Ada", one="rationale")
    mark_all(connection, "Ben", one="irrelevant")
    cleo = annotator_named(connection, "Cleo")
    disagreement.settle(connection, cleo, FACT, "one", "rationale", "key 1")
    assert disagreement.settled_labels(connection) == {(FACT, "one"): ("rationale", "Cleo")}
    assert disagreement.disagreements(connection, 2)[FACT][0].settled == "rationale"
    assert disagreement.undo_settling(connection, cleo, "key 2") == FACT
    assert disagreement.settled_labels(connection) == {}
    assert disagreement.undo_settling(connection, cleo, "key 3") is None


def test_settling_with_an_unknown_label_is_refused(connection: Connection) -> None:
    with pytest.raises(UserError, match="no label"):
        disagreement.settle(connection, annotator_named(connection, "Ada"), FACT, "one", "perhaps", "key")
