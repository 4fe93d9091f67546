"""People: their names, roles, browser sessions, and links for signing in from other machines."""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from sayso.annotate.store import Connection
from sayso.errors import UserError

MAX_NAME = 60
SecretKind = Literal["session", "link"]
Role = Literal["annotator", "reviewer", "reader"]
ROLES: dict[Role, str] = {
    "annotator": "marks sentences and decides on facts",
    "reviewer": "decides on facts",
    "reader": "changes nothing",
}
"""The roles that can be given to people, and what each may do; leads are named when the workbench starts."""

AGREED = 0
"""The owner of settled marks and of decisions."""
KNOWN = -1
"""The owner of a pilot round's known answers."""


class Annotator(NamedTuple):
    """An annotator's name and database id."""

    id: int
    name: str


def now() -> str:
    """Return the current UTC time as stored in the database, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def annotator_named(connection: Connection, name: str) -> Annotator:
    """Return the annotator with this name, ignoring case; add them if they are new."""
    name = " ".join(name.split())
    if not name or len(name) > MAX_NAME or not name.isprintable():
        raise UserError(f"a name must have 1 to {MAX_NAME} printable characters")
    connection.execute("INSERT OR IGNORE INTO annotator (name, created) VALUES (?, ?)", (name, now()))
    row = connection.execute("SELECT id, name FROM annotator WHERE name = ?", (name,)).fetchone()
    return Annotator(*row)


def annotators(connection: Connection) -> list[Annotator]:
    """Return all annotators in the order they were added."""
    return [Annotator(*row) for row in connection.execute("SELECT id, name FROM annotator ORDER BY id")]


@dataclass(frozen=True, kw_only=True)
class Person:
    """Someone who has been named, with their role and the time (UTC) of their link, empty without one."""

    name: str
    role: Role
    link_created: str


def everyone(connection: Connection) -> list[Person]:
    """Return everyone, in the order they were added."""
    rows = connection.execute(
        "SELECT name, role, coalesce((SELECT max(created) FROM link WHERE annotator = annotator.id), '')"
        " FROM annotator ORDER BY id"
    )
    return [Person(name=row[0], role=row[1], link_created=row[2]) for row in rows]


def role_of(connection: Connection, annotator: Annotator) -> Role:
    """Return someone's role."""
    role: Role = connection.execute("SELECT role FROM annotator WHERE id = ?", (annotator.id,)).fetchone()[0]
    return role


def set_role(connection: Connection, annotator: Annotator, role: Role) -> None:
    """Give someone a role."""
    connection.execute("UPDATE annotator SET role = ? WHERE id = ?", (role, annotator.id))


def close_session(connection: Connection, secret: str) -> None:
    """End the session with this secret."""
    connection.execute("DELETE FROM session WHERE digest = ?", (_digest(secret),))


def has_other_sessions(connection: Connection, annotator: Annotator) -> bool:
    """Return whether anyone else is signed in."""
    return connection.execute("SELECT 1 FROM session WHERE annotator <> ?", (annotator.id,)).fetchone() is not None


def end_links(connection: Connection, annotator: Annotator | None = None, kept: str = "") -> None:
    """Revoke all links and sessions, or those of one person, except the session with the secret `kept`."""
    for table in ("link", "session"):
        condition = "digest <> ?" if annotator is None else "digest <> ? AND annotator = ?"
        values = (_digest(kept), *([] if annotator is None else [annotator.id]))
        connection.execute(f"DELETE FROM {table} WHERE {condition}", values)


def has_link(connection: Connection, annotator: Annotator) -> bool:
    """Return whether the annotator has a link."""
    return connection.execute("SELECT 1 FROM link WHERE annotator = ?", (annotator.id,)).fetchone() is not None


def server_secret(connection: Connection) -> bytes:
    """Return the secret for form tokens; it survives a restart, so open pages keep working."""
    connection.execute(
        "INSERT OR IGNORE INTO setting (name, value) VALUES ('server_secret', ?)", (secrets.token_hex(32),)
    )
    row = connection.execute("SELECT value FROM setting WHERE name = 'server_secret'").fetchone()
    return bytes.fromhex(row[0])


def new_secret(connection: Connection, table: SecretKind, annotator: Annotator) -> str:
    """Start a session or create a sign-in link; return its secret, of which the database stores only the digest."""
    secret = secrets.token_urlsafe(32)
    row = (_digest(secret), annotator.id, now())
    connection.execute(f"INSERT INTO {table} (digest, annotator, created) VALUES (?, ?, ?)", row)
    return secret


def secret_annotator(connection: Connection, table: SecretKind, secret: str) -> Annotator | None:
    """Return the annotator whose session or link has this secret, or None.

    The lookup is by digest, so its timing reveals nothing about the secret.
    """
    query = f"SELECT id, name FROM {table} JOIN annotator ON annotator.id = annotator WHERE digest = ?"
    row = connection.execute(query, (_digest(secret),)).fetchone()
    return Annotator(*row) if row else None


def _digest(secret: str) -> str:
    # The secrets are 256 random bits, so a plain hash is enough.
    return hashlib.sha256(secret.encode()).hexdigest()
