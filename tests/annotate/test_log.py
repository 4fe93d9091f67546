import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from sayso.annotate.log import Change, entries, record, undo
from sayso.annotate.people import AGREED, annotator_named
from sayso.annotate.store import AnnotationDatabase, Connection
from sayso.records import Triple


def setup(connection: Connection):
    return annotator_named(connection, "Ada"), annotator_named(connection, "Ben"), Triple("h", "r", "t")


def value_of(connection: Connection, owner: int, fact: Triple, sentence: str, kind: str) -> str:
    found = entries(connection, "entry.owner = ? AND kind = ? AND coalesce(text, '') = ?", owner, kind, sentence)
    assert {each.fact for each in found} <= {fact}
    return found[0].value if found else ""


def test_undo_goes_back_step_by_step_to_the_beginning(connection: Connection) -> None:
    ada, _, fact = setup(connection)
    for number, value in enumerate(("a", "b", "")):
        record(connection, ada, "work", f"key {number}", [Change(fact, "", "note", value)])
    seen = []
    while undo(connection, ada, "work", f"undo {len(seen)}"):
        seen.append(value_of(connection, ada.id, fact, "", "note"))
    assert seen == ["b", "a", ""]


def test_a_step_is_undone_whole(connection: Connection) -> None:
    ada, _, fact = setup(connection)
    record(connection, ada, "work", "first", [Change(fact, place, "mark", "yes") for place in ("1", "2", "3")])
    undone = undo(connection, ada, "work", "undo")
    assert sorted(undone) == [Change(fact, place, "mark", "") for place in ("1", "2", "3")]


def test_the_same_key_acts_once(connection: Connection) -> None:
    ada, _, fact = setup(connection)
    assert record(connection, ada, "work", "one", [Change(fact, "", "note", "a")])
    record(connection, ada, "work", "two", [Change(fact, "", "note", "b")])
    assert not record(connection, ada, "work", "one", [Change(fact, "", "note", "a")])
    assert value_of(connection, ada.id, fact, "", "note") == "b"
    assert undo(connection, ada, "work", "back") == undo(connection, ada, "work", "back")
    assert value_of(connection, ada.id, fact, "", "note") == "a"


def test_what_is_there_already_is_no_step_to_undo(connection: Connection) -> None:
    ada, _, fact = setup(connection)
    record(connection, ada, "work", "one", [Change(fact, "", "note", "a")])
    assert not record(connection, ada, "work", "two", [Change(fact, "", "note", "a")])
    undo(connection, ada, "work", "undo")
    assert value_of(connection, ada.id, fact, "", "note") == ""


def test_everyone_undoes_their_own_steps_of_one_scope(connection: Connection) -> None:
    ada, ben, fact = setup(connection)
    record(connection, ada, "work", "a", [Change(fact, "", "note", "ada's")])
    record(connection, ada, "other", "b", [Change(fact, "", "else", "ada's")])
    record(connection, ben, "work", "c", [Change(fact, "", "note", "ben's")])
    undo(connection, ada, "work", "undo")
    assert value_of(connection, ben.id, fact, "", "note") == "ben's"
    assert value_of(connection, ada.id, fact, "", "else") == "ada's"
    assert value_of(connection, ada.id, fact, "", "note") == ""


def test_undo_skips_what_someone_else_has_changed_since(connection: Connection) -> None:
    ada, ben, fact = setup(connection)
    record(connection, ada, "agree", "a", [Change(fact, "one", "mark", "yes")], owner=AGREED)
    record(connection, ada, "agree", "b", [Change(fact, "two", "mark", "yes")], owner=AGREED)
    record(connection, ben, "agree", "c", [Change(fact, "two", "mark", "no")], owner=AGREED)
    assert undo(connection, ada, "agree", "undo") == [Change(fact, "one", "mark", "")]
    assert value_of(connection, AGREED, fact, "two", "mark") == "no"
    assert undo(connection, ada, "agree", "undo again") == []


@settings(max_examples=30)
@given(
    st.lists(
        st.one_of(st.just("undo"), st.tuples(st.sampled_from(["1", "2", "3"]), st.sampled_from(["a", "b", ""]))),
        max_size=25,
    )
)
def test_the_entries_are_what_a_stack_of_states_gives(actions) -> None:
    with tempfile.TemporaryDirectory() as folder:
        database = AnnotationDatabase(Path(folder) / "a.db")
        with database.writing() as connection:
            ada, _, fact = setup(connection)
            states = [{"1": "", "2": "", "3": ""}]
            for number, action in enumerate(actions):
                if action == "undo":
                    undo(connection, ada, "work", f"undo {number}")
                    states = states[:-1] or states
                else:
                    place, value = action
                    record(connection, ada, "work", f"step {number}", [Change(fact, place, "mark", value)])
                    if states[-1][place] != value:
                        states.append({**states[-1], place: value})
                held = {place: value_of(connection, ada.id, fact, place, "mark") for place in ("1", "2", "3")}
                assert held == states[-1]
        database.close()
