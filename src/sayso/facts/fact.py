"""Facts: plain, with quoted evidence, extracted from a corpus, or decided on by a person.

An exported or decided fact is self-contained: a later evaluation or a deleted run does not change what the person saw.
"""

import json
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from sayso.documents.entity_graph import is_new_entity
from sayso.facts.quote import (
    DecidedQuote,
    Quote,
    QuoteDecisionName,
    one_of,
    quote_from_dict,
    quote_to_dict,
    read_stored_quote,
    stored_quote,
)
from sayso.readers.base import BadLineError, refuse_control
from sayso.readers.json_line import json_object, nested, objects, share, string, strings, whole
from sayso.records import Support, Triple, support_kind

Decision = Literal["accepted", "rejected", "needs_evidence"]
DECISIONS: tuple[Decision, ...] = get_args(Decision)

Status = Literal["", "new", "known", "contradicts"]
"""Comparison with a knowledge base: not compared, missing there, present, or present with a different object although
the relation allows only one."""
STATUSES: tuple[Status, ...] = get_args(Status)


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A relation between two entities, and the probability that a model gives it.

    Example:
        >>> fact = Fact(head_id="Q1030", head_name="Namibia", relation="capital", tail_id="Q3935",
        ...             tail_name="Windhoek", probability=0.97)
        >>> fact.to_dict()["head"]
        'Q1030'
    """

    head_id: str
    head_name: str
    relation: str
    tail_id: str
    tail_name: str
    probability: float

    @property
    def triple(self) -> Triple:
        """The ids of head, relation and tail."""
        return Triple(self.head_id, self.relation, self.tail_id)

    @property
    def new_entities(self) -> tuple[str, ...]:
        """Which of `head` and `tail` are entities that `sayso build` found and the knowledge base does not have."""
        ids = {"head": self.head_id, "tail": self.tail_id}
        return tuple(side for side, entity_id in ids.items() if is_new_entity(entity_id))

    @property
    def marked_names(self) -> tuple[str, str]:
        """The names of head and tail, with a note after that of a new entity."""
        names = {"head": self.head_name, "tail": self.tail_name}
        head, tail = (f"{name} (new entity)" if side in self.new_entities else name for side, name in names.items())
        return head, tail

    def to_dict(self) -> dict[str, Any]:
        """Return the fact as plain values, with the entities' ids as `head` and `tail`."""
        return {
            "head": self.head_id,
            "head_name": self.head_name,
            "relation": self.relation,
            "tail": self.tail_id,
            "tail_name": self.tail_name,
            "probability": self.probability,
            "new_entities": list(self.new_entities),
        }


@dataclass(frozen=True, kw_only=True)
class QuotedFact(Fact):
    """A fact with the model that predicted it and the sentences quoted as evidence, in rank order.

    `mechanism` is the mechanism that scored the quotes.
    """

    run: str
    variant: str
    model_fingerprint: str
    data_fingerprint: str
    mechanism: str
    quotes: tuple[Quote, ...]

    def decided(
        self, decision: Decision, annotator: str, decided_at: str, reason: str, is_label: bool
    ) -> "DecidedFact":
        """Return the record of a person's decision on the fact."""
        return DecidedFact(
            **{each.name: getattr(self, each.name) for each in fields(QuotedFact)},
            decision=decision,
            annotator=annotator,
            decided_at=decided_at,
            reason=reason,
            is_label=is_label,
        )

    def quote_decided(
        self, quote: Quote, decision: QuoteDecisionName, reason: str, annotator: str, decided_at: str
    ) -> DecidedQuote:
        """Return the record of a person's decision on one of the quotes."""
        names = ("head_id", "head_name", "relation", "tail_id", "tail_name")
        return DecidedQuote(
            **{name: getattr(self, name) for name in names},
            quote=quote,
            decision=decision,
            reason=reason,
            annotator=annotator,
            decided_at=decided_at,
        )


@dataclass(frozen=True, kw_only=True)
class DecidedFact(QuotedFact):
    """A person's decision on a fact, with the sentences that the person saw.

    `is_label` says whether the knowledge base has the fact; `decided_at` is in UTC, as ISO 8601.
    """

    decision: Decision
    reason: str
    annotator: str
    decided_at: str
    is_label: bool

    def to_json(self) -> str:
        """Return the record as one line of JSON, which `from_json` reads."""
        quotes = [stored_quote(each) for each in self.quotes]
        about = {"quotes": quotes, "new_entities": self.new_entities}
        return json.dumps({**asdict(self), **about}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "DecidedFact":
        """Return the record written by `to_json`.

        Raises:
            BadLineError: a value is missing or has the wrong type.
        """
        record = json_object(text)
        texts = {each.name: string(record, each.name, "") for each in fields(cls) if each.type is str}
        for name in ("head_id", "relation", "tail_id", "annotator"):
            string(record, name)  # must not be empty
        if not isinstance(record.get("is_label"), bool):
            raise BadLineError("'is_label' is not true or false")
        return cls(
            **texts,
            decision=one_of(DECISIONS, string(record, "decision"), "decision"),
            probability=share(record, "probability"),
            is_label=record["is_label"],
            quotes=tuple(read_stored_quote(each) for each in objects(record, "quotes")),
        )


_IDS = {"head_id": "head", "relation": "relation", "tail_id": "tail"}
_RUN = {"run": "run", "variant": "variant", "model_fingerprint": "model", "data_fingerprint": "data"}
_TEXTS = {"head_name": "head_name", "tail_name": "tail_name", **_RUN}
"""The keys of an extracted fact's fields in JSON; unlike an id, a text may be empty."""


@dataclass(frozen=True, kw_only=True)
class ExtractedFact(QuotedFact):
    """A fact that `sayso extract` found in a corpus.

    `num_sentences` counts the distinct sentences of the pair; `quotes` may contain only the top-ranked ones.
    `contradicts` lists the objects that the knowledge base has instead. If other facts of the knowledge base lower the
    `probability`, `text_probability` is that of the text alone.
    """

    num_sentences: int
    support: Support
    status: Status = ""
    contradicts: tuple[str, ...] = ()
    text_probability: float | None = None

    @property
    def sort_key(self) -> tuple[float, str, str, str]:
        """Sorts by descending probability, then by ids."""
        return -self.probability, self.head_id, self.relation, self.tail_id

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain values, as docs/extract.md describes them."""
        return {
            **super().to_dict(),
            "status": self.status,
            "contradicts": list(self.contradicts),
            "text_probability": self.text_probability,
            "num_sentences": self.num_sentences,
            "support": self.support._asdict(),
            "evidence": [quote_to_dict(each) for each in self.quotes],
            "mechanism": self.mechanism,
            **{key: getattr(self, name) for name, key in _RUN.items()},
        }

    def to_json(self) -> str:
        """Return the record as one line of JSON, which `from_json` reads."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "ExtractedFact":
        """Return the record on a line written by `to_json`."""
        return cls.from_dict(json_object(text))

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> "ExtractedFact":
        """Return the record from a dict returned by `to_dict`.

        Raises:
            BadLineError: a value is missing or has the wrong type.
        """
        ids = {name: string(record, key) for name, key in _IDS.items()}
        texts = {name: _text(record, key) for name, key in _TEXTS.items()}
        contradicts = tuple(strings(record, "contradicts"))
        refuse_control(*ids.values(), *texts.values(), *contradicts)
        return cls(
            **ids,
            **texts,
            probability=share(record, "probability"),
            text_probability=None if record.get("text_probability") is None else share(record, "text_probability"),
            num_sentences=whole(record, "num_sentences"),
            support=_support(record),
            mechanism=_text(record, "mechanism"),
            quotes=tuple(quote_from_dict(each) for each in objects(record, "evidence")),
            status=one_of(STATUSES, _text(record, "status"), "status"),
            contradicts=contradicts,
        )


def _text(record: dict[str, Any], key: str) -> str:
    """Return the string under the key, which may be empty."""
    if key not in record:
        raise BadLineError(f"{key!r} is missing")
    return string(record, key, "")


def _support(record: dict[str, Any]) -> Support:
    # sayso 0.1 called it a verdict and did not count the sentences that are each enough; read until 0.3.
    found = nested(record, "support" if "support" in record else "verdict")
    kind, num_smallest = string(found, "kind"), whole(found, "num_smallest")
    probabilities = {name: share(found, name) for name in Support._fields if name.startswith("probability_")}
    num_enough = None if found.get("num_enough") is None else whole(found, "num_enough")
    return Support(
        kind=support_kind(kind, num_smallest), num_smallest=num_smallest, num_enough=num_enough, **probabilities
    )
