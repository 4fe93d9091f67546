"""A question to a model, and the process that answers: it reads and writes one JSON object per line.

A question is a few sentences, and the names of two entities in them.
`python -m sayso.serve.try_it.worker RUN IDLE_SECONDS`. Its first line reports that the model is loaded. It ends when no
question arrives for that long, and immediately when its parent process is gone.
"""

import json
import os
import select
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from sayso.documents.mention import spelling
from sayso.errors import BadArgumentError, UserError, handled_warnings
from sayso.records import Bag, Mention, Sentence, Source
from sayso.tokens import (
    Span,
    Spans,
    apart_from,
    control_character,
    keep_apart,
    locate_freely,
    tokenise_with_starts,
)

if TYPE_CHECKING:
    from sayso.library import Model

MAX_SENTENCES, MAX_CHARACTERS, MAX_TOGETHER = 64, 20_000, 200_000
MAX_EXPLAINED = 3
"""The number of relations to explain if none is given."""
NUM_LISTED = 12
"""The number of relations to list with their probabilities."""


EntityName = Annotated[str, Field(min_length=1, max_length=200)]


class Question(BaseModel):
    """Sentences and a pair of entities; the first name of an entity is its main name.

    If a type is missing, the one that the model knows is used. If no relation is given, the predicted ones are
    explained.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sentences: Annotated[list[Annotated[str, Field(max_length=MAX_CHARACTERS)]], Field(max_length=MAX_SENTENCES)]
    heads: Annotated[list[EntityName], Field(min_length=1, max_length=8)]
    tails: Annotated[list[EntityName], Field(min_length=1, max_length=8)]
    head_type: Annotated[str, Field(max_length=200)] = ""
    tail_type: Annotated[str, Field(max_length=200)] = ""
    relation: Annotated[str, Field(max_length=500)] = ""
    threshold: Annotated[float, Field(ge=0.0, le=1.0)] = 0.5

    @model_validator(mode="after")
    def _is_small_enough(self) -> Self:
        if not any(text.strip() for text in self.sentences):
            raise ValueError("there are no sentences; paste one per line")
        if control_character(*self.heads, *self.tails, self.head_type, self.tail_type, self.relation):
            raise ValueError("a name, a type or the relation contains a control character")
        if sum(map(len, self.sentences)) > MAX_TOGETHER:
            raise ValueError(f"the sentences have more than {MAX_TOGETHER:,} characters in total")
        return self

    @property
    def types(self) -> dict[str, str]:
        """The given types, by name."""
        given = {self.heads[0]: self.head_type, self.tails[0]: self.tail_type}
        return {name: kind for name, kind in given.items() if kind}


def bag_of(question: Question, warn: Callable[[str], None]) -> Bag:
    """Return the distinct sentences that name both entities as a bag, and warn about the others.

    Raises `BadArgumentError` if there are no sentences left.
    """
    texts = dict.fromkeys(" ".join(text.split()) for text in question.sentences)
    records, faults = list[Sentence](), list[str]()
    for number, text in enumerate(filter(None, texts), 1):
        try:
            records.append(marked_sentence(text, question.heads, question.tails))
        except BadArgumentError as error:
            faults.append(f"sentence {number}: {error}")
    if not records:
        raise BadArgumentError(faults[0])
    for fault in faults:
        warn(f"Left out: {fault}.")
    return Bag.from_sentences(records)


def marked_sentence(text: str, heads: list[str], tails: list[str]) -> Sentence:
    """Return the sentence with all mentions of head and tail.

    >>> marked_sentence("Windhoek, the city, is in Namibia.", ["Windhoek", "the city"], ["Namibia"]).head.spans
    (Span(start=0, stop=1), Span(start=2, stop=4))
    """
    tokens, starts = tokenise_with_starts(text)
    found = []
    for names in (heads, tails):
        found.append(_locate_any(tokens, names))
        if not found[-1]:
            raise BadArgumentError(f"{' or '.join(map(repr, names))} does not appear in “{_short(text)}”")
    try:
        head_spans, tail_spans = keep_apart(*found)
    except ValueError:
        raise BadArgumentError(f"head and tail are the same words in “{_short(text)}”") from None
    head, tail = Mention(heads[0], heads[0], head_spans), Mention(tails[0], tails[0], tail_spans)
    # The text is its own document, so that the answer shows it as written.
    source = Source("", 0, len(text), *spelling(text, tokens, starts))
    return Sentence(tuple(tokens), head, tail, source=source)


def _locate_any(tokens: list[str], names: list[str]) -> Spans:
    """Return where the names occur; a name inside a longer one does not count."""
    # Longest first: tokens of a longer name are not available to shorter ones.
    by_width: dict[int, set[Span]] = {}
    for name in names:
        for span in locate_freely(tokens, name):
            by_width.setdefault(span.stop - span.start, set()).add(span)
    kept: list[Span] = []
    for width in sorted(by_width, reverse=True):
        kept += _apart(apart_from(sorted(by_width[width]), kept))
    return tuple(sorted(kept))


def _apart(spans: Spans) -> Iterator[Span]:
    """Yield the spans that do not overlap the previous one."""
    last = 0
    for span in spans:
        if span.start >= last:
            last = span.stop
            yield span


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:79]}…"


def answer(model: "Model", question: Question) -> dict[str, Any]:
    """Return the most probable relations, and explanations of the top ones."""
    from sayso.explain.bag import explain_bag, own_bag

    warnings = list[str]()
    with handled_warnings(warnings.append):
        bag = bag_of(question, warnings.append)
        (probability_R,) = model.predict_proba([bag], question.types)
        listed = sorted(zip(model.relations, probability_R.tolist(), strict=True), key=lambda each: -each[1])
        found = [name for name, probability in listed if probability >= question.threshold]
        wanted = [question.relation] if question.relation else (found or [listed[0][0]])[:MAX_EXPLAINED]
        to_explain = own_bag(model.parts, bag, question.types)
        explained = explain_bag(model.parts, to_explain, wanted, None, question.threshold)
    return {
        "variant": model.variant,
        "probabilities": [{"relation": name, "probability": each} for name, each in listed[:NUM_LISTED]],
        "explanations": [each.to_dict() for each in explained],
        "warnings": list(dict.fromkeys(warnings)),
    }


def main() -> None:
    """Load the model and answer questions."""
    folder, idle_seconds = Path(sys.argv[1]), float(sys.argv[2])
    # The pipe is only for answers: anything that libraries print goes to stderr.
    pipe = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(value: dict[str, Any]) -> None:
        pipe.write(json.dumps(value) + "\n")
        pipe.flush()

    from sayso.library import load

    try:
        model = load(folder)
    except UserError as error:
        say({"error": str(error)})
        return
    say({"ready": model.variant})
    while select.select([sys.stdin], [], [], idle_seconds)[0]:
        line = sys.stdin.readline()
        if not line:
            return
        try:
            say({"answer": answer(model, Question.model_validate_json(line))})
        except UserError as error:
            say({"error": str(error)})


if __name__ == "__main__":
    main()
