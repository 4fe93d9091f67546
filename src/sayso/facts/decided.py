"""A decided fact and its quotes: the one record that every export is written from.

It is made when the decision is made, and kept whole: a later evaluation, or a run that is gone, changes nothing in what
the person has seen and decided on.
"""

import json
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, NamedTuple, get_args

from sayso.readers.base import BadLineError
from sayso.readers.json_line import finite, json_object, nested, objects, share, string, whole
from sayso.records import Sentence, Source, as_written
from sayso.tokens import shortest_cover

Decision = Literal["accepted", "rejected", "needs_evidence"]
DECISIONS: tuple[Decision, ...] = get_args(Decision)


class Quote(NamedTuple):
    """A sentence as evidence: the shortest stretch that names both entities, and the sentence before and after it.

    The three together are the sentence as its document writes it, any white space as one space. `source` is the place
    of the whole sentence in its document, None where the corpus has no documents. `score` is the mechanism's that
    ranks, `rank` its place, `mark` what people say of it.
    """

    prefix: str
    exact: str
    suffix: str
    rank: int
    score: float
    mark: str = ""
    source: Source | None = None

    @property
    def sentence(self) -> str:
        """The whole sentence."""
        return f"{self.prefix}{self.exact}{self.suffix}"

    @property
    def place(self) -> dict[str, str | int] | None:
        """The source as plain values: document id, start and stop."""
        source = self.source
        return source and {"document_id": source.document_id, "start": source.start, "stop": source.stop}


@dataclass(frozen=True, kw_only=True)
class FactDecision:
    """A fact, a person's decision on it, and the run that the person looked at.

    `is_label` says whether the knowledge base held the fact; `decided_at` is a time in UTC, as ISO 8601 writes it.
    """

    head_id: str
    head_name: str
    relation: str
    tail_id: str
    tail_name: str
    decision: Decision
    reason: str
    annotator: str
    decided_at: str
    probability: float
    is_label: bool
    run: str
    variant: str
    model_fingerprint: str
    data_fingerprint: str
    mechanism: str


@dataclass(frozen=True, kw_only=True)
class DecidedFact(FactDecision):
    """A decision with the sentences that the person saw."""

    quotes: tuple[Quote, ...]

    def to_json(self) -> str:
        """Return the record as one line of JSON; `from_json` gives the same record."""
        quotes = [{**each._asdict(), "source": each.place} for each in self.quotes]
        return json.dumps({**asdict(self), "quotes": quotes}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "DecidedFact":
        """Return the record of a line that `to_json` wrote; a value of the wrong kind is a `BadLineError`."""
        record = json_object(text)
        texts = {each.name: string(record, each.name, "") for each in fields(FactDecision) if each.type is str}
        for name in ("head_id", "relation", "tail_id", "annotator"):
            string(record, name)  # which must not be empty
        if not isinstance(record.get("is_label"), bool):
            raise BadLineError("'is_label' is not true or false")
        return cls(
            **texts,
            decision=_decision(record),
            probability=share(record, "probability"),
            is_label=record["is_label"],
            quotes=tuple(map(_quote, objects(record, "quotes"))),
        )


def quote_words(record: dict[str, Any]) -> tuple[str, str, str]:
    """Return what a quote's record says of its words: prefix, exact and suffix."""
    prefix, exact, suffix = (string(record, key, "") for key in ("prefix", "exact", "suffix"))
    return prefix, exact, suffix


def source_of(place: dict[str, Any], id_key: str) -> Source:
    """Return the place in a document that a record names."""
    return Source(string(place, id_key, ""), whole(place, "start"), whole(place, "stop"))


def _quote(record: dict[str, Any]) -> Quote:
    source = source_of(nested(record, "source"), "document_id") if record.get("source") is not None else None
    rank, score, mark = whole(record, "rank"), finite(record, "score"), string(record, "mark", "")
    return Quote(*quote_words(record), rank, score, mark, source)


def _decision(record: dict[str, Any]) -> Decision:
    value = string(record, "decision")
    for name in DECISIONS:
        if value == name:
            return name
    raise BadLineError(f"'decision' is {value[:20]!r}; it must be {', '.join(DECISIONS)}")


def quote_of(sentence: Sentence, rank: int, score: float, mark: str = "") -> Quote:
    """Return a sentence as evidence.

    >>> sentence = Sentence.from_text("So Windhoek is Namibia's capital.", "Namibia", "Windhoek")
    >>> quote_of(sentence, 1, 2.5)[:3]
    ('So ', 'Windhoek is Namibia', " 's capital .")
    >>> quote_of(sentence._replace(source=Source("news", 0, 33, glued=(4, 6))), 1, 2.5)[:3]
    ('So ', 'Windhoek is Namibia', "'s capital.")
    """
    start, stop = shortest_cover(sentence.head.spans, sentence.tail.spans)
    words = [gap + token for gap, token in as_written(sentence.tokens, sentence.source)]
    before, naming, suffix = ("".join(piece) for piece in (words[:start], words[start:stop], words[stop:]))
    exact = naming.lstrip(" ")
    prefix = before + " " * (len(naming) - len(exact))
    # How tokens are written says nothing about a quote, which has none.
    return Quote(prefix, exact, suffix, rank, score, mark, sentence.source and Source(*sentence.source[:3]))
