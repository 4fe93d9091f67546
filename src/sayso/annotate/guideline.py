"""What annotators are asked to do, in the words of whoever leads the work."""

from sayso.annotate.store import Connection

MAX_LENGTH = 20_000

USUAL = """\
Read the relation and its definition first, then each sentence by itself.

Rationale: a reader who knows nothing but this sentence would believe the fact. The sentence states it, or states \
something from which it follows without further knowledge.

Irrelevant: the sentence names both, but does not say that they stand in this relation, even if you know that they do.

Unsure: you have read it twice and cannot tell. Such a sentence counts on neither side.

Do not look anything up, and do not let one sentence of the bag help you with another.

If the sentences show that the fact itself is wrong, say so with "the bag's label is wrong" and mark the sentences as \
they stand."""


def read_guideline(connection: Connection) -> str:
    """Return the guideline of this database, or the usual one."""
    row = connection.execute("SELECT value FROM setting WHERE name = 'guideline'").fetchone()
    return str(row[0]) if row else USUAL


def write_guideline(connection: Connection, text: str) -> None:
    """Keep the guideline; an empty one brings the usual one back."""
    connection.execute("DELETE FROM setting WHERE name = 'guideline'")
    if text.strip():
        connection.execute("INSERT INTO setting VALUES ('guideline', ?)", (text.strip(),))
