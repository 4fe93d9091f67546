"""What people have said about facts beside their marks: comments, and doubts about the bag's label."""

from typing import NamedTuple

from sayso.annotate.store import Connection
from sayso.annotate.work import COMMENT, WRONG, find_fact
from sayso.records import Triple


class Remark(NamedTuple):
    """One person's comment on a fact, and whether they hold its label for wrong."""

    annotator: str
    comment: str
    is_wrong: bool


def remarks_on(connection: Connection, fact: Triple) -> list[Remark]:
    """Return what people who have submitted the fact said about it."""
    rows = connection.execute(
        "SELECT name, kind, value FROM entry AS said JOIN annotator ON annotator.id = owner"
        " WHERE fact = ? AND kind IN (?, ?) AND EXISTS (SELECT 1 FROM entry WHERE owner = said.owner"
        " AND fact = said.fact AND sentence = 0 AND kind = 'submitted') ORDER BY owner",
        (find_fact(connection, fact), COMMENT, WRONG),
    )
    said: dict[str, dict[str, str]] = {}
    for name, kind, value in rows:
        said.setdefault(name, {})[kind] = value
    return [Remark(name, values.get(COMMENT, ""), WRONG in values) for name, values in said.items()]
