"""JSON requests and responses of the annotation API."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from sayso.serve.bag_fact import RunScores
from sayso.tokens import control_character

MAX_COMMENT = 5_000
_LAYOUT = str.maketrans("", "", "\t\r\n\u2028\u2029")
"""Tab and line ends, which a text may have."""
Label = Literal["rationale", "irrelevant", "unsure", ""]


def _without_control(text: str) -> str:
    if found := control_character(text.translate(_LAYOUT)):
        raise ValueError(f"the control character {found} cannot be part of a text")
    return text


Prose = Annotated[str, AfterValidator(_without_control)]
"""What people write about a fact: several lines, but no control characters, which would go on into exports."""


class Body(BaseModel):
    """What a request brings; a key that is not known is refused, since it may be one that is spelt wrong."""

    model_config = ConfigDict(extra="forbid")


class FactName(BaseModel):
    """A fact: the number of its bag in the part, and its relation."""

    bag: Annotated[int, Field(ge=0, le=2**53)]
    relation: Annotated[str, Field(max_length=500)]


class FactStep(FactName, Body):
    """A fact, and a key of the sender's choice; sent twice under one key, a step is taken once."""

    key: Annotated[str, Field(min_length=8, max_length=64)]


class Step(BaseModel):
    """A key of the sender's choice; sent twice under one key, a step is taken once."""

    key: Annotated[str, Field(min_length=8, max_length=64)]


class UndoStep(Step, Body):
    """A step to undo, on the fact that the person sees; without a fact, their last one on any."""

    fact: FactName | None = None


class SentenceLabel(Body):
    """A sentence by its place in the bag, from 0, and its label; the empty label takes a mark away."""

    sentence: Annotated[int, Field(ge=0)]
    label: Label


class Marks(FactStep):
    """Labels that are given, and can be undone, at once."""

    marks: Annotated[list[SentenceLabel], Field(min_length=1, max_length=10_000)]


class Comment(FactStep):
    """What somebody has to say about a fact."""

    text: Annotated[Prose, Field(max_length=MAX_COMMENT)]


class Wrong(FactStep):
    """Whether somebody says this fact is wrong."""

    is_wrong: bool


class Place(FactName, Body):
    """Where somebody is: the fact, and the sentence by its place in the bag."""

    sentence: Annotated[int, Field(ge=0)]


class Saved(BaseModel):
    """The answer to what was saved: marks that the person has on the fact now, and whether it is submitted.

    `is_pilot_done` says that the fact was the last of the pilot round, so that its outcome can be shown.
    """

    num_marked: int
    num_sentences: int
    is_submitted: bool
    is_pilot_done: bool = False


class Undone(BaseModel):
    """What was undone: the fact, the marks that changed, and whether more than marks did; no fact if nothing was."""

    fact: FactName | None
    marks: list[SentenceLabel]
    is_more: bool


class Turn(BaseModel):
    """The fact that comes next; none where nothing is left."""

    fact: FactName | None


class AnnotatedSentence(BaseModel):
    """A sentence of the bag with the mentions as spans of tokens, and the person's own label."""

    tokens: list[str]
    head_spans: list[tuple[int, int]]
    tail_spans: list[tuple[int, int]]
    label: Label


class AnnotatedFact(FactName):
    """A fact with the person's own work on it; what runs say is there once it is submitted."""

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
    scores: list[RunScores]
