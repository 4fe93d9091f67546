"""A fact that a model found in text, with its evidence: the record that all forms of extracted facts are made from."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from sayso.errors import BadInputError
from sayso.facts.decided import DecidedFact, Decision, Quote, quote_words, source_of
from sayso.input_file import holding
from sayso.io.checksum import FILES
from sayso.io.folder import MANIFEST, Workfolder
from sayso.io.folder_kind import refuse_other_kind
from sayso.io.json_file import checked_files
from sayso.readers.base import BadLine, BadLineError, refuse_control
from sayso.readers.json_line import finite, json_object, nested, objects, share, string, strings, whole
from sayso.readers.lines import holds_something, read_lines
from sayso.records import Support, support_kind

FACTS_FILE = "facts.jsonl"
"""What the file of facts is called in the folder of an extraction."""

Status = Literal["", "new", "known", "contradicts"]
"""What the knowledge base says: nothing was asked, it has not the fact, it has it, or it has another object for a
subject that can have only one."""


_STATUSES: tuple[Status, ...] = get_args(Status)


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
        return cls.from_dict(json_object(text))

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> "FoundFact":
        """Return the record of what `to_dict` gave; a missing or wrong value is a `BadLineError`."""
        head_id, relation, tail_id = (string(record, key) for key in ("head", "relation", "tail"))
        head_name, tail_name = _text(record, "head_name"), _text(record, "tail_name")
        contradicts = tuple(strings(record, "contradicts"))
        run, variant, model, data = (_text(record, key) for key in ("run", "variant", "model", "data"))
        refuse_control(head_id, head_name, relation, tail_id, tail_name, run, variant, model, data, *contradicts)
        return cls(
            head_id=head_id,
            head_name=head_name,
            relation=relation,
            tail_id=tail_id,
            tail_name=tail_name,
            probability=share(record, "probability"),
            num_sentences=whole(record, "num_sentences"),
            support=_support(record),
            run=run,
            variant=variant,
            model_fingerprint=model,
            data_fingerprint=data,
            mechanism=_text(record, "mechanism"),
            quotes=tuple(map(_quote, objects(record, "evidence"))),
            status=_status(record),
            contradicts=contradicts,
        )


def facts_file(path: Path) -> Path:
    """Return the file of facts that is meant: the file itself, or that of an extraction's folder."""
    if not path.is_dir():
        return path
    refuse_other_kind(path, "extraction")
    if not (path / FACTS_FILE).is_file():
        raise BadInputError(f"{path}: there is no {FACTS_FILE} here; `sayso extract --format jsonl` writes it")
    return path / FACTS_FILE


def read_found(path: Path) -> Iterator[FoundFact]:
    """Yield the facts of a file of JSON lines that `sayso extract` wrote, or of its folder."""
    path = facts_file(path)
    refuse_damaged(path)
    for number, text in holding(path, "facts", filter(holds_something, read_lines(path))):
        yield found_at(path, number, text)


def refuse_damaged(path: Path) -> None:
    """Raise `BadInputError` where a file is not as the manifest of the extraction beside it says."""
    advice = "`sayso extract --resume` writes it again; if the change is meant, copy the file into another folder"
    if manifest := manifest_beside(path):
        checked_files(path.parent / MANIFEST, manifest, advice).path(path.name)


def manifest_beside(path: Path) -> dict[str, Any]:
    """Return the manifest of the extraction that wrote a file of facts; empty where there is none beside it."""
    manifest = Workfolder(path=path.parent, made_by="sayso extract", go_on="--resume").read()
    return manifest if path.name in manifest.get(FILES, ()) else {}


def found_at(path: Path, number: int, text: str | BadLine) -> FoundFact:
    """Return the fact of a line of such a file."""
    try:
        if isinstance(text, BadLine):
            raise BadLineError(text.reason)
        return FoundFact.from_dict(json_object(text))
    except BadLineError as error:
        raise no_fact(path, number, str(error)) from None


def no_fact(path: Path, number: int, reason: str) -> BadInputError:
    """Return the error of a line that is no fact."""
    return BadInputError(f"{path}:{number}: not a fact of `sayso extract --format jsonl` ({reason})")


def _text(record: dict[str, Any], key: str) -> str:
    """Return the string under the key, which may be empty."""
    if key not in record:
        raise BadLineError(f"{key!r} is missing")
    return string(record, key, "")


def _support(record: dict[str, Any]) -> Support:
    """Return what the prediction of a fact's record rests on."""
    # sayso 0.1 called it a verdict; such files are read until 0.3.
    found = nested(record, "support" if "support" in record else "verdict")
    kind, num_smallest = string(found, "kind"), whole(found, "num_smallest")
    # Files of 0.1 have no such count.
    num_enough = None if found.get("num_enough") is None else whole(found, "num_enough")
    return Support(
        kind=support_kind(kind, num_smallest),
        num_smallest=num_smallest,
        probability_with=share(found, "probability_with"),
        probability_without=share(found, "probability_without"),
        probability_of_none=share(found, "probability_of_none"),
        num_enough=num_enough,
    )


def _status(record: dict[str, Any]) -> Status:
    value = _text(record, "status")
    for name in _STATUSES:
        if value == name:
            return name
    raise BadLineError(f"'status' is {value[:20]!r}; it must be {', '.join(_STATUSES[1:])} or empty")


def _evidence(each: Quote) -> dict[str, Any]:
    place = each.source and {"id": each.source.document_id, "start": each.source.start, "stop": each.source.stop}
    words = {"prefix": each.prefix, "exact": each.exact, "suffix": each.suffix}
    return {"rank": each.rank, "score": each.score, **words, "document": place}


def _quote(record: dict[str, Any]) -> Quote:
    if "document" not in record:
        raise BadLineError("'document' is missing in the evidence")
    source = None if record["document"] is None else source_of(nested(record, "document"), "id")
    refuse_control(source.document_id if source else "")
    return Quote(*quote_words(record), rank=whole(record, "rank"), score=finite(record, "score"), source=source)
