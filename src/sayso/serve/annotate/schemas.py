"""JSON requests and responses of the annotation API."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from sayso.serve.workbench import FactName, RunScores
from sayso.tokens import control_character

MAX_COMMENT = 5_000
_LAYOUT = str.maketrans("", "", "\t\r\n\u2028\u2029")
"""Deletes tabs and line breaks, which are allowed in comments."""
Label = Literal["rationale", "irrelevant", "unsure", ""]


def _without_control(text: str) -> str:
    if found := control_character(text.translate(_LAYOUT)):
        raise ValueError(f"the text contains the control character {found}")
    return text


Prose = Annotated[str, AfterValidator(_without_control)]
"""Text typed by a user: may have several lines, but no control characters, which would end up in exports."""


class StrictModel(BaseModel):
    """A request body; unknown keys are refused, since they may be typos."""

    model_config = ConfigDict(extra="forbid")


class KeyedRequest(BaseModel):
    """A request key chosen by the sender; a request sent twice with the same key takes effect once."""

    key: Annotated[str, Field(min_length=8, max_length=64)]


class FactRequest(FactName, KeyedRequest, StrictModel):
    """A fact and a request key; with `version`, refused (409) if you have changed the fact since that version."""

    version: Annotated[int | None, Field(ge=0)] = None


class UndoRequest(KeyedRequest, StrictModel):
    """Undo the last step on the given fact, whose version must be current, or on any fact if none is given."""

    fact: FactName | None = None
    version: Annotated[int | None, Field(ge=0)] = None


class SentenceLabel(StrictModel):
    """A sentence (by its index in the bag) and its label; an empty label removes the mark."""

    sentence: Annotated[int, Field(ge=0)]
    label: Label


class MarksRequest(FactRequest):
    """Labels that are saved, and can be undone, together."""

    marks: Annotated[list[SentenceLabel], Field(min_length=1, max_length=10_000)]


class CommentRequest(FactRequest):
    """A comment on a fact."""

    text: Annotated[Prose, Field(max_length=MAX_COMMENT)]


class WrongRequest(FactRequest):
    """Whether the fact is reported as wrong."""

    is_wrong: bool


class PlaceRequest(FactName, StrictModel):
    """The annotator's position: the fact, and the sentence by its index in the bag."""

    sentence: Annotated[int, Field(ge=0)]


class SavedState(BaseModel):
    """The state after saving: the annotator's number of marks on the fact, and whether it is submitted.

    `is_pilot_done` is true if this was the last fact of the pilot round, so its result can be shown. `version` belongs
    in the next request about the fact.
    """

    num_marked: int
    num_sentences: int
    is_submitted: bool
    version: int
    is_pilot_done: bool = False


class UndoneStep(BaseModel):
    """What was undone: the fact (null if nothing), the changed marks, and whether more than marks changed."""

    fact: FactName | None
    marks: list[SentenceLabel]
    is_more: bool
    version: int = 0


class NextFact(BaseModel):
    """The next fact, if any."""

    fact: FactName | None


class AnnotatedSentence(BaseModel):
    """A sentence of the bag with its mentions as token spans, and the annotator's own label."""

    tokens: list[str]
    head_spans: list[tuple[int, int]]
    tail_spans: list[tuple[int, int]]
    label: Label


class AnnotatedFact(FactName):
    """A fact with the annotator's own work on it; `scores` only after they submit it."""

    head_id: str
    head_name: str
    tail_id: str
    tail_name: str
    definition: str
    example: str
    is_label: bool
    sentences: list[AnnotatedSentence]
    comment: str
    is_wrong: bool
    is_submitted: bool
    version: int
    scores: list[RunScores]
