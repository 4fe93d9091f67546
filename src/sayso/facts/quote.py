"""Quotes: sentences as evidence of a fact, as files of facts and decisions contain them, and decisions on them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, get_args

from sayso.documents.split import ENGLISH
from sayso.readers.base import BadLineError, refuse_control
from sayso.readers.files import parse_lines
from sayso.readers.json_line import finite, json_object, nested, share, string, whole
from sayso.records import Sentence, Source, Triple, as_written
from sayso.tokens import Span, Spans, shortest_cover

QuoteDecisionName = Literal["accepted", "rejected"]
QUOTE_DECISIONS: tuple[QuoteDecisionName, ...] = get_args(QuoteDecisionName)

WRONG_ENTITY = {"wrong entity (head)": "head_id", "wrong entity (tail)": "tail_id"}
"""Reasons that blame the linker, which chose the wrong entity, and the field with the id of that entity."""
REASONS = (
    *WRONG_ENTITY,
    *("wrong boundaries", "negated", "hypothetical", "other relation", "not in the sentence", "out of date"),
)
"""Reasons for rejecting a quote, unless `sayso serve --reasons` lists others."""

MAX_REASON = 100

ChoiceName = TypeVar("ChoiceName", bound=str)


class Quote(NamedTuple):
    """A sentence as evidence: the shortest span that names both entities, and the text before and after it.

    The three parts together are the sentence as written in its document, with white space collapsed to one space;
    `head_spans` and `tail_spans` are the characters of this sentence that name the entities. `source` is the position
    of the whole sentence in its document, None if the corpus has no documents. `score` and `rank` come from the
    mechanism that ranks the sentences, `alone` is the fact's probability from this sentence alone (None if unknown).
    `mark` is the annotators' mark; `decision` and `reason` are a reviewer's decision on this quote.
    """

    prefix: str
    exact: str
    suffix: str
    rank: int
    score: float
    mark: str = ""
    source: Source | None = None
    head_spans: Spans = ()
    tail_spans: Spans = ()
    alone: float | None = None
    decision: str = ""
    reason: str = ""

    @property
    def sentence(self) -> str:
        """The whole sentence."""
        return f"{self.prefix}{self.exact}{self.suffix}"

    def edited(self, head_name: str, tail_name: str) -> str:
        """Return the sentence with the antecedents of pronouns and short names in brackets: He [Ada Lovelace] left."""
        text = self.sentence
        for stop, name in reversed(self.antecedents(head_name, tail_name)):
            text = f"{text[:stop]} [{name}]{text[stop:]}"
        return text

    def antecedents(self, head_name: str, tail_name: str) -> list[tuple[int, str]]:
        """Return the names to insert in brackets, and the character offsets of the sentence at which to insert them."""
        found = []
        for spans, name in ((self.head_spans, head_name), (self.tail_spans, tail_name)):
            if added := antecedent([self.sentence[slice(*span)] for span in spans], name):
                found.append((spans[0].stop, added))
        return sorted(found)

    @property
    def place(self) -> dict[str, str | int] | None:
        """The source as plain values: document id, start and stop."""
        return self.source and {name: getattr(self.source, name) for name in ("document_id", "start", "stop")}

    @property
    def is_rejected(self) -> bool:
        """Whether a reviewer said that this sentence is no evidence."""
        return self.decision == "rejected"


def antecedent(mentions: Sequence[str], name: str) -> str:
    """Return the name if the mentions in a sentence are only pronouns, nouns or its last word; else an empty string.

    >>> antecedent(["He"], "Alan_Turing"), antecedent(["the company"], "Acme"), antecedent(["Turing"], "Alan Turing")
    ('Alan Turing', 'Acme', 'Alan Turing')
    >>> antecedent(["Alan Turing", "he"], "Alan Turing"), antecedent(["Big Apple"], "New York")
    ('', '')
    """
    name = " ".join(name.replace("_", " ").split())
    return name if mentions and all(_is_short(each, name) for each in mentions) else ""


def _is_short(mention: str, name: str) -> bool:
    words, full = mention.replace("_", " ").lower().split(), name.lower().split()
    if len(words) == 2 and words[0] == "the":
        return words[1] in ENGLISH["nouns_for_names"] and words != full
    return len(words) == 1 and words != full and (words[0] in ENGLISH["pronouns"] or words == full[-1:])


def quote_of(sentence: Sentence, rank: int, score: float, mark: str = "", alone: float | None = None) -> Quote:
    """Return a sentence as a quote.

    >>> sentence = Sentence.from_text("So Windhoek is Namibia's capital.", "Namibia", "Windhoek")
    >>> quote_of(sentence, 1, 2.5)[:3]
    ('So ', 'Windhoek is Namibia', " 's capital .")
    >>> quote = quote_of(sentence._replace(source=Source("news", 0, 33, glued=(4, 6))), 1, 2.5)
    >>> quote[:3], quote.head_spans, quote.tail_spans
    (('So ', 'Windhoek is Namibia', "'s capital."), (Span(start=15, stop=22),), (Span(start=3, stop=11),))
    """
    start, stop = shortest_cover(sentence.head.spans, sentence.tail.spans)
    words = list(as_written(sentence.tokens, sentence.source))
    pieces = [gap + token for gap, token in words]
    before, naming, suffix = ("".join(piece) for piece in (pieces[:start], pieces[start:stop], pieces[stop:]))
    exact = naming.lstrip(" ")
    prefix = before + " " * (len(naming) - len(exact))
    stops = list(accumulate(map(len, pieces)))
    head_spans, tail_spans = (
        tuple(Span(stops[first] - len(words[first][1]), stops[last - 1]) for first, last in mention.spans)
        for mention in (sentence.head, sentence.tail)
    )
    # A quote has no tokens, so only the position of the source is kept.
    source = sentence.source and Source(*sentence.source[:3])
    return Quote(prefix, exact, suffix, rank, score, mark, source, head_spans, tail_spans, alone)


def quote_to_dict(each: Quote) -> dict[str, Any]:
    """Return a quote as a JSON object, in the format that docs/extract.md describes."""
    place = each.source and {"id": each.source.document_id, "start": each.source.start, "stop": each.source.stop}
    words = {"prefix": each.prefix, "exact": each.exact, "suffix": each.suffix}
    spans = {"head": list(map(list, each.head_spans)), "tail": list(map(list, each.tail_spans))}
    return {"rank": each.rank, "score": each.score, "alone": each.alone, **words, **spans, "document": place}


def quote_from_dict(record: dict[str, Any]) -> Quote:
    """Return the quote from a dict returned by `quote_to_dict`; raise `BadLineError` if a value is missing or wrong."""
    if "document" not in record:
        raise BadLineError("'document' is missing from the evidence")
    source = _source(record, "document", "id")
    refuse_control(source.document_id if source else "")
    return _quote(record, source)._replace(head_spans=_spans(record, "head"), tail_spans=_spans(record, "tail"))


def stored_quote(each: Quote) -> dict[str, Any]:
    """Return a quote as it is stored with a decision; `read_stored_quote` reads it."""
    return {**each._asdict(), "source": each.place}


def read_stored_quote(record: dict[str, Any]) -> Quote:
    """Return the quote from a dict returned by `stored_quote`; raise `BadLineError` if a value is missing or wrong."""
    mark, decision, reason = (string(record, name, "") for name in ("mark", "decision", "reason"))
    return _quote(record, _source(record, "source", "document_id"))._replace(
        head_spans=_spans(record, "head_spans"),
        tail_spans=_spans(record, "tail_spans"),
        mark=mark,
        decision=decision,
        reason=reason,
    )


def one_of(names: tuple[ChoiceName, ...], value: str, key: str) -> ChoiceName:
    """Return the value if it is one of the names, or else raise `BadLineError`."""
    for name in names:
        if value == name:
            return name
    raise BadLineError(f"{key!r} is {value[:20]!r}; it must be {', '.join(filter(None, names))}")


def _quote(record: dict[str, Any], source: Source | None) -> Quote:
    prefix, exact, suffix = (string(record, key, "") for key in ("prefix", "exact", "suffix"))
    # Files written by 0.1 have neither `alone` nor spans.
    alone = None if record.get("alone") is None else share(record, "alone")
    rank, score = whole(record, "rank"), finite(record, "score")
    return Quote(prefix, exact, suffix, rank, score, source=source, alone=alone)


def _spans(record: dict[str, Any], key: str) -> Spans:
    found = record.get(key) or []
    if not isinstance(found, list) or not all(
        isinstance(span, list) and len(span) == 2 and all(type(edge) is int and edge >= 0 for edge in span)
        for span in found
    ):
        raise BadLineError(f"{key!r} is not a list of spans [start, stop]")
    return tuple(Span(*span) for span in found)


def _source(record: dict[str, Any], key: str, id_key: str) -> Source | None:
    if record.get(key) is None:
        return None
    place = nested(record, key)
    return Source(string(place, id_key, ""), whole(place, "start"), whole(place, "stop"))


@dataclass(frozen=True, kw_only=True)
class DecidedQuote:
    """A person's decision on one quote of a fact, with the sentence that the person saw; `decided_at` is in UTC."""

    head_id: str
    head_name: str
    relation: str
    tail_id: str
    tail_name: str
    quote: Quote
    decision: QuoteDecisionName
    reason: str
    annotator: str
    decided_at: str

    @property
    def triple(self) -> Triple:
        """The ids of head, relation and tail."""
        return Triple(self.head_id, self.relation, self.tail_id)

    def to_json(self) -> str:
        """Return the record as one line of JSON, which `from_json` reads."""
        return json.dumps({**asdict(self), "quote": stored_quote(self.quote)}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "DecidedQuote":
        """Return the record written by `to_json`; raise `BadLineError` if a value is missing or wrong."""
        record = json_object(text)
        ids = {name: string(record, name) for name in ("head_id", "relation", "tail_id", "annotator")}
        texts = {name: string(record, name, "") for name in ("head_name", "tail_name", "reason", "decided_at")}
        decision = one_of(QUOTE_DECISIONS, string(record, "decision"), "decision")
        return cls(**ids, **texts, decision=decision, quote=read_stored_quote(nested(record, "quote")))


def read_reasons(path: Path) -> tuple[str, ...]:
    """Read reasons for rejecting a quote, one per line."""
    return tuple(dict.fromkeys(reason for _, reason in parse_lines(path, "reasons", _reason)))


def _reason(text: str) -> str:
    refuse_control(text)
    if len(text.strip()) > MAX_REASON:
        raise BadLineError(f"longer than {MAX_REASON} characters")
    return text.strip()


def with_decisions(quotes: Iterable[Quote], decided: Mapping[str, DecidedQuote]) -> tuple[Quote, ...]:
    """Return the quotes with the decisions on them; `decided` has these by sentence."""
    return tuple(
        each._replace(decision=made.decision, reason=made.reason) if (made := decided.get(each.sentence)) else each
        for each in quotes
    )
