"""A decided fact and its quotes: the one record that every export is written from.

It is made when the decision is made, and kept whole: a later evaluation, or a run that is gone, changes nothing in what
the person has seen and decided on.
"""

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, get_args

from sayso.naming import shortest_cover
from sayso.records import Sentence, Source, as_written

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
        """Return the record of a line that `to_json` wrote."""
        record: dict[str, Any] = json.loads(text)
        quotes = tuple(
            Quote(**{**each, "source": Source(**each["source"]) if each["source"] else None})
            for each in record.pop("quotes")
        )
        return cls(**record, quotes=quotes)


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
