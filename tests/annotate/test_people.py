import pytest

from sayso.annotate import people
from sayso.annotate.store import Connection
from sayso.errors import UserError


def test_a_name_is_one_person_whatever_its_case_and_spaces(connection: Connection) -> None:
    ada = people.annotator_named(connection, "  Ada   Byron ")
    assert people.annotator_named(connection, "ada byron") == ada
    assert ada.name == "Ada Byron"
    assert people.annotators(connection) == [ada]


@pytest.mark.parametrize("name", ["", "   ", "x" * 61, "a\x00b", "a\u202eb"])
def test_a_name_that_cannot_be_read_is_refused(connection: Connection, name: str) -> None:
    with pytest.raises(UserError, match="a name must have"):
        people.annotator_named(connection, name)


def test_a_session_opens_until_it_is_closed(connection: Connection) -> None:
    ada = people.annotator_named(connection, "Ada")
    secret = people.new_secret(connection, "session", ada)
    assert people.secret_annotator(connection, "session", secret) == ada
    assert people.secret_annotator(connection, "session", secret + "x") is None
    people.close_session(connection, secret)
    assert people.secret_annotator(connection, "session", secret) is None


def test_links_and_their_sessions_can_be_ended(connection: Connection) -> None:
    ada = people.annotator_named(connection, "Ada")
    old = people.new_secret(connection, "link", ada)
    secret = people.new_secret(connection, "session", ada)
    people.end_links(connection)
    assert people.secret_annotator(connection, "link", old) is None
    assert people.secret_annotator(connection, "session", secret) is None
    assert not people.has_link(connection, ada)
    assert people.secret_annotator(connection, "link", people.new_secret(connection, "link", ada)) == ada


def test_the_database_stores_no_secret_in_plain_text(connection: Connection) -> None:
    ada = people.annotator_named(connection, "Ada")
    secrets = [people.new_secret(connection, "session", ada), people.new_secret(connection, "link", ada)]
    held = [
        str(value)
        for table in ("session", "link")
        for row in connection.execute(f"SELECT * FROM {table}")
        for value in row
    ]
    assert held
    assert not set(secrets) & set(held)


def test_the_form_secret_stays_the_same(connection: Connection) -> None:
    assert people.server_secret(connection) == people.server_secret(connection)
