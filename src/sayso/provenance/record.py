"""A decided fact and its quotes: the one record that every export is written from.

It is made when the decision is made, and kept whole: a later evaluation, or a run that is gone, changes nothing in what
the person has seen and decided on.
"""

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, get_args

from sayso.records import Sentence, Source

Decision = Literal["accepted", "rejected", "needs_evidence"]
DECISIONS: tuple[Decision, ...] = get_args(Decision)


class Quote(NamedTuple):
    """A sentence as evidence: the shortest stretch that names both entities, and the sentence before and after it.

    The three together are the sentence. `source` is the place of the whole sentence in its document, None where the
    corpus has no documents. `score` is the mechanism's that ranks, `rank` its place, `mark` what people say of it.
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
        quotes = [{**each._asdict(), "source": each.source and each.source._asdict()} for each in self.quotes]
        return json.dumps({**asdict(self), "quotes": quotes}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "DecidedFact":
        """Return the record of a line that `to_json` wrote."""
        record: dict[str, Any] = json.loads(text)
        quotes = tuple(
            Quote(**{**each, "source": Source(**each["source"]) if each["source"] else None})
            for each in record.pop("quotes")
        )
        return cls(**record, quotes=quotes)


def quote_of(sentence: Sentence, rank: int, score: float, mark: str = "") -> Quote:
    """Return a sentence as evidence.

    >>> from sayso.records import Sentence
    >>> quote_of(Sentence.from_text("So Windhoek is Namibia 's capital .", "Namibia", "Windhoek"), 1, 2.5)[:3]
    ('So ', 'Windhoek is Namibia', " 's capital .")
    """
    start, stop = min(
        (
            (min(head.start, tail.start), max(head.stop, tail.stop))
            for head in sentence.head.spans
            for tail in sentence.tail.spans
        ),
        key=lambda stretch: (stretch[1] - stretch[0], stretch[0]),
    )
    exact = " ".join(sentence.tokens[start:stop])
    prefix = "".join(f"{token} " for token in sentence.tokens[:start])
    suffix = "".join(f" {token}" for token in sentence.tokens[stop:])
    return Quote(prefix, exact, suffix, rank, score, mark, sentence.source)
