"""A fact that a model found in text, with its evidence: the record that all forms of extracted facts are made from."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from sayso.corpus.base import BadLine, BadLineError
from sayso.corpus.json_line import json_object
from sayso.corpus.lines import read_lines
from sayso.errors import BadInputError
from sayso.provenance.record import DecidedFact, Decision, Quote
from sayso.records import Source, Support, support_kind

FACTS_FILE = "facts.jsonl"
"""What the file of facts is called in the folder of an extraction."""

Status = Literal["", "new", "known", "contradicts"]
"""What the knowledge base says: nothing was asked, it has not the fact, it has it, or it has another object for a
subject that can have only one."""


@dataclass(frozen=True, kw_only=True)
class FoundFact:
    """A fact, how probable it is, the sentences it rests on (the first in rank first), and what found it.

    `num_sentences` are the distinct sentences of the pair, of which `quotes` may be only the first. `contradicts` are
    the objects that the knowledge base has instead. `mechanism` gave the quotes their scores.
    """

    head_id: str
    head_name: str
    relation: str
    tail_id: str
    tail_name: str
    probability: float
    num_sentences: int
    support: Support
    run: str
    variant: str
    model_fingerprint: str
    data_fingerprint: str
    mechanism: str
    quotes: tuple[Quote, ...]
    status: Status = ""
    contradicts: tuple[str, ...] = ()

    @property
    def sort_key(self) -> tuple[float, str, str, str]:
        """The place among other facts: the most probable first, then by ids."""
        return -self.probability, self.head_id, self.relation, self.tail_id

    def decided(self, decision: Decision, annotator: str, decided_at: str, reason: str = "") -> DecidedFact:
        """Return the record of a person's decision on the fact."""
        shared = {each.name: getattr(self, each.name) for each in fields(DecidedFact) if hasattr(self, each.name)}
        return DecidedFact(
            **shared,
            decision=decision,
            annotator=annotator,
            decided_at=decided_at,
            reason=reason,
            is_label=self.status == "known",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain values, as docs/extract.md describes them."""
        return {
            "head": self.head_id,
            "head_name": self.head_name,
            "relation": self.relation,
            "tail": self.tail_id,
            "tail_name": self.tail_name,
            "probability": self.probability,
            "status": self.status,
            "contradicts": list(self.contradicts),
            "num_sentences": self.num_sentences,
            "support": self.support._asdict(),
            "evidence": [_evidence(each) for each in self.quotes],
            "mechanism": self.mechanism,
            "run": self.run,
            "variant": self.variant,
            "model": self.model_fingerprint,
            "data": self.data_fingerprint,
        }

    def to_json(self) -> str:
        """Return the record as one line of JSON; `from_json` gives the same record."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "FoundFact":
        """Return the record of a line that `to_json` wrote."""
        return cls.from_dict(json.loads(text))

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> "FoundFact":
        """Return the record of what `to_dict` gave."""
        return cls(
            head_id=record["head"],
            head_name=record["head_name"],
            relation=record["relation"],
            tail_id=record["tail"],
            tail_name=record["tail_name"],
            probability=record["probability"],
            num_sentences=record["num_sentences"],
            support=support_in(record),
            run=record["run"],
            variant=record["variant"],
            model_fingerprint=record["model"],
            data_fingerprint=record["data"],
            mechanism=record["mechanism"],
            quotes=tuple(_quote(each) for each in record["evidence"]),
            status=record["status"],
            contradicts=tuple(record["contradicts"]),
        )


def read_found(path: Path) -> Iterator[FoundFact]:
    """Yield the facts of a file of JSON lines that `sayso extract` wrote."""
    for number, text in read_lines(path):
        yield found_at(path, number, text)


def found_at(path: Path, number: int, text: str | BadLine) -> FoundFact:
    """Return the fact of a line of such a file."""
    try:
        if isinstance(text, BadLine):
            raise BadLineError(text.reason)
        return FoundFact.from_dict(json_object(text))
    except BadLineError as error:
        raise no_fact(path, number, str(error)) from None
    except (ValueError, KeyError, TypeError) as error:
        raise no_fact(path, number, repr(error)) from None


def no_fact(path: Path, number: int, reason: str) -> BadInputError:
    """Return the error of a line that is no fact."""
    return BadInputError(f"{path}:{number}: not a fact of `sayso extract --format jsonl` ({reason})")


def support_in(record: dict[str, Any]) -> Support:
    """Return what the prediction of a fact's record rests on."""
    # sayso 0.1 called it a verdict; such files are read until 0.3.
    support = Support(**record["support" if "support" in record else "verdict"])
    return support._replace(kind=support_kind(support.kind, support.num_smallest))


def _evidence(each: Quote) -> dict[str, Any]:
    place = each.source and {"id": each.source.document_id, "start": each.source.start, "stop": each.source.stop}
    words = {"prefix": each.prefix, "exact": each.exact, "suffix": each.suffix}
    return {"rank": each.rank, "score": each.score, **words, "document": place}


def _quote(record: dict[str, Any]) -> Quote:
    place = record["document"]
    source = Source(place["id"], place["start"], place["stop"]) if place else None
    words = (record["prefix"], record["exact"], record["suffix"])
    return Quote(*words, rank=record["rank"], score=record["score"], source=source)
