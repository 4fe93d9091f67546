"""Which facts somebody wants to see, and in what order: the same for pages, the JSON API and links."""

from typing import Annotated, Any, Literal, Self
from urllib.parse import parse_qsl, urlencode

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

Sort = Literal["probability", "faithfulness", "disagreement", "sentences", "relation", "head", "tail"]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Loss = Annotated[float, Field(ge=-1.0, le=1.0)]

MAX_TERMS = 8
"""More words than this are not looked for."""


class TableQuery(BaseModel):
    """What can be asked of any table of facts; whatever is empty asks for nothing."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    q: Annotated[str, Field(max_length=200, description="Words that the names of head or tail have in them.")] = ""
    relation: Annotated[str, Field(max_length=500, description="Name of a relation.")] = ""
    support: Annotated[
        Literal["", "one_sentence", "sentences_together", "several_sentences", "not_sentences", "not_predicted"],
        Field(description="What the model's prediction rests on."),
    ] = ""
    min_probability: Share = 0.0
    sort: str = "probability"
    order: Literal["up", "down"] = "down"
    page: Annotated[int, Field(ge=1, le=10_000_000)] = 1

    @model_validator(mode="before")
    @classmethod
    def _leave_out_empty(cls, values: Any) -> Any:
        """Forms send a field that nobody has filled as an empty text: it is then not there."""
        if not isinstance(values, dict):
            return values
        return {name: value for name, value in values.items() if value != ""}

    @classmethod
    def within(cls, text: str) -> Self:
        """Return the query that a link asks for, the usual one where it is odd."""
        try:
            return cls.model_validate(dict(parse_qsl(text)))
        except ValidationError:
            return cls()

    @property
    def terms(self) -> list[str]:
        """The words to look for, in small letters, names in one form."""
        return self.q.replace("_", " ").lower().split()[:MAX_TERMS]

    @property
    def has_more(self) -> bool:
        """Whether it asks for something besides names and relation."""
        usual = type(self)()
        rest = {name: getattr(usual, name) for name in ("q", "relation", "sort", "order", "page")}
        return self.model_copy(update=rest) != usual

    def link(self, **changes: object) -> str:
        """Return the part of an address that asks for this, with some values changed.

        >>> FactQuery(relation="/a/b", page=3).link(page=4)
        'relation=%2Fa%2Fb&page=4'
        """
        values = self.model_copy(update=changes).model_dump()
        is_default = {name: field.default for name, field in type(self).model_fields.items()}
        return urlencode({name: value for name, value in values.items() if value != is_default[name]})


class FactQuery(TableQuery):
    """What facts of a run must be like to be listed."""

    label: Annotated[Literal["", "yes", "no"], Field(description="Whether the knowledge base has the fact.")] = ""
    max_probability: Share = 1.0
    min_disagreement: Annotated[
        Share, Field(description="Share of mechanisms that put another sentence first than most do.")
    ] = 0.0
    min_faithfulness: Annotated[
        Loss, Field(description="What the probability loses without the first sentence, at least.")
    ] = -1.0
    max_faithfulness: Loss = 1.0
    sort: Sort = "probability"


PRESETS: tuple[tuple[str, FactQuery], ...] = (
    ("New to the knowledge base", FactQuery(label="no")),
    (
        "Probable, but not because of the first sentence",
        FactQuery(min_probability=0.76, sort="faithfulness", order="up"),
    ),
    ("Mechanisms disagree", FactQuery(min_disagreement=0.34, sort="disagreement")),
    ("Not on the sentences", FactQuery(support="not_sentences")),
    ("Labels that are not predicted", FactQuery(label="yes", support="not_predicted", order="up")),
)
"""Questions that people ask of a run."""
