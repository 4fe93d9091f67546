"""Which facts of an extraction somebody wants to see, and in what order."""

from typing import Annotated, Literal

from pydantic import Field

from sayso.serve.predictions.query import TableQuery

FoundSort = Literal["status", "probability", "support", "sentences", "relation", "head", "tail"]


class FoundQuery(TableQuery):
    """What facts must be like to be listed: those that nobody has decided on, new ones first, unless it says more.

    Going through a list decides on its facts; those that were decided on after the event `since` of the log stay in it.
    """

    status: Annotated[
        Literal["", "new", "known", "contradicts"], Field(description="What the knowledge base says about the fact.")
    ] = ""
    decision: Annotated[
        Literal["open", "any", "accepted", "rejected", "needs_evidence"],
        Field(description="What people have decided; `open` is nothing."),
    ] = "open"
    sort: FoundSort = "status"
    since: Annotated[
        int | None, Field(ge=0, le=2**53, description="Keep what was decided after this event of the log.")
    ] = None


PRESETS: tuple[tuple[str, FoundQuery], ...] = (
    ("To decide", FoundQuery()),
    ("Against the knowledge base", FoundQuery(status="contradicts")),
    ("Not on the sentences", FoundQuery(support="not_sentences")),
    ("Waiting for evidence", FoundQuery(decision="needs_evidence")),
    ("All", FoundQuery(decision="any", sort="probability")),
)
"""Questions that people ask of an extraction."""
