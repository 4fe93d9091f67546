import pytest

from sayso.annotate import marking as work
from sayso.annotate.log import Change
from sayso.annotate.people import annotator_named
from sayso.annotate.store import Connection
from sayso.errors import UserError
from sayso.records import Triple

FACT = Triple("h", "capital", "t")


def test_marks_are_each_persons_own(connection: Connection) -> None:
    ada, ben = annotator_named(connection, "Ada"), annotator_named(connection, "Ben")
    work.mark(connection, ada, FACT, {"one": "rationale"}, "key 1")
    work.mark(connection, ben, FACT, {"one": "irrelevant"}, "key 1")
    assert work.work_of(connection, ada.id, FACT).labels == {"one": "rationale"}
    assert work.work_of(connection, ben.id, FACT).labels == {"one": "irrelevant"}


def test_the_empty_label_takes_a_mark_away(connection: Connection) -> None:
    ada = annotator_named(connection, "Ada")
    work.mark(connection, ada, FACT, {"one": "rationale", "two": "unsure"}, "key 1")
    work.mark(connection, ada, FACT, {"one": ""}, "key 2")
    assert work.work_of(connection, ada.id, FACT).labels == {"two": "unsure"}


def test_an_unknown_label_is_refused(connection: Connection) -> None:
    with pytest.raises(UserError, match="'maybe' is not a label"):
        work.mark(connection, annotator_named(connection, "Ada"), FACT, {"one": "maybe"}, "key")


def test_a_fact_is_submitted_only_with_all_sentences_marked(connection: Connection) -> None:
    ada = annotator_named(connection, "Ada")
    work.mark(connection, ada, FACT, {"one": "rationale"}, "key 1")
    with pytest.raises(UserError, match="1 of 2 sentences are not marked"):
        work.submit(connection, ada, FACT, ["one", "two"], "key 2")
    work.mark(connection, ada, FACT, {"two": "unsure"}, "key 3")
    work.submit(connection, ada, FACT, ["one", "two"], "key 4")
    assert work.work_of(connection, ada.id, FACT).is_submitted


def test_a_submitted_fact_is_marked_again_only_after_undo(connection: Connection) -> None:
    ada = annotator_named(connection, "Ada")
    work.mark(connection, ada, FACT, {"one": "rationale"}, "key 1")
    work.submit(connection, ada, FACT, ["one"], "key 2")
    with pytest.raises(UserError, match="submitted"):
        work.mark(connection, ada, FACT, {"one": "irrelevant"}, "key 3")
    assert work.undo_last(connection, ada, "key 4") == [Change(FACT, "", "submitted", "")]
    work.mark(connection, ada, FACT, {"one": "irrelevant"}, "key 5")
    assert work.undo_last(connection, ada, "key 6") == [Change(FACT, "one", "mark", "rationale")]


def test_comment_and_flag_are_kept_and_undone(connection: Connection) -> None:
    ada = annotator_named(connection, "Ada")
    work.comment(connection, ada, FACT, " odd \n", "key 1")
    work.flag_wrong(connection, ada, FACT, True, "key 2")
    done = work.work_of(connection, ada.id, FACT)
    assert (done.comment, done.is_wrong) == ("odd", True)
    work.undo_last(connection, ada, "key 3")
    assert not work.work_of(connection, ada.id, FACT).is_wrong
