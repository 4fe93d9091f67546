"""One explained fact as text, JSON or an HTML page, and a sentence that says what its prediction rests on."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from operator import add
from typing import Any, NamedTuple, TextIO

from sayso.documents.entity_graph import is_new_entity
from sayso.facts.fact import Fact
from sayso.facts.html import explanation_page, with_brackets
from sayso.facts.quote import antecedent
from sayso.records import (
    NOT_PREDICTED,
    NOT_SENTENCES,
    SENTENCES_TOGETHER,
    SEVERAL_SENTENCES,
    SUPPORT_LABELS,
    Sentence,
    Support,
    as_written,
)

_NUM_WORDS_SHOWN = 5


class Evidence(NamedTuple):
    """A sentence of an explained bag, with every mechanism's score for the fact.

    Attributes:
        sentence: The sentence.
        scores: The score of each mechanism, by name.
        rank: 1 for the most important sentence.
        is_in_smallest: Whether it is in the smallest set of sentences that keeps the prediction.
        seen: The words or types that the model read.
        word_scores: The contribution of each of them; empty for low-ranked sentences.
        mark: The annotators' mark: `rationale`, `irrelevant` or empty.
    """

    sentence: Sentence
    scores: dict[str, float]
    rank: int
    is_in_smallest: bool
    seen: tuple[str, ...]
    word_scores: tuple[float, ...] = ()
    mark: str = ""


@dataclass(frozen=True, kw_only=True)
class Explanation(Fact):
    """A predicted fact with its evidence, most important sentence first, and its support.

    Returned by `Model.explain`; notebooks render it as HTML.

    Attributes:
        head_type: The type of the head entity, as the model read it.
        tail_type: The type of the tail entity.
        threshold: Facts with at least this probability count as predicted.
        is_label: Whether the knowledge base has the fact; None if unknown.
        evidence: The sentences, each with the score of every mechanism.
        support: What the prediction rests on; `support_text` is the same as a sentence.
        ranked_by: The mechanism that ranks the sentences.
        variant: The model's variant, such as `CNNs+ATT+F`.

    Example:
        ```python
        explanation = model.explain(bag)
        print(explanation.support_text)
        print(explanation.evidence[0].sentence.text, explanation.evidence[0].scores)
        ```
    """

    head_type: str
    tail_type: str
    threshold: float
    is_label: bool | None
    evidence: tuple[Evidence, ...]
    support: Support
    ranked_by: str
    variant: str

    def __post_init__(self) -> None:
        assert self.evidence, "a bag has sentences"
        assert [each.rank for each in self.evidence] == list(range(1, len(self.evidence) + 1))
        assert all(not each.word_scores or len(each.word_scores) == len(each.seen) for each in self.evidence)

    @property
    def mechanisms(self) -> list[str]:
        """The names of the mechanisms."""
        return list(self.evidence[0].scores)

    @property
    def support_text(self) -> str:
        """What the prediction rests on, as a sentence."""
        return support_sentence(self.support, self.probability, self.threshold, len(self.evidence))

    def __str__(self) -> str:
        """Return the text that `show` writes."""
        return "\n".join(self._lines())

    def show(self, file: TextIO | None = None) -> None:
        """Write the explanation as text.

        Args:
            file: Where to write; standard output by default.
        """
        (file or sys.stdout).write(f"{self}\n")

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain values."""
        return {
            "head": {"entity_id": self.head_id, "name": self.head_name, "type": self.head_type},
            "tail": {"entity_id": self.tail_id, "name": self.tail_name, "type": self.tail_type},
            "relation": self.relation,
            "probability": self.probability,
            "threshold": self.threshold,
            "is_label": self.is_label,
            "variant": self.variant,
            "ranked_by": self.ranked_by,
            "support": {**self.support._asdict(), "text": self.support_text},
            "evidence": [_evidence_dict(each) for each in self.evidence],
        }

    def to_json(self) -> str:
        """Return the explanation as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2)

    def to_html(self) -> str:
        """Return the explanation as a self-contained HTML page."""
        return explanation_page([self.to_dict()])

    def _repr_html_(self) -> str:
        return self.to_html()

    def _lines(self) -> Iterator[str]:
        head, tail = (", new entity" if is_new_entity(each) else "" for each in (self.head_id, self.tail_id))
        yield f"{self.head_name} ({self.head_type}{head})  →  {self.tail_name} ({self.tail_type}{tail})"
        known = {True: "the knowledge base has it", False: "the knowledge base does not have it", None: ""}
        yield f"{self.relation}   probability {self.probability:.3f}   {known[self.is_label]}".rstrip()
        yield self.support_text
        for each in self.evidence:
            yield ""
            yield from _evidence_lines(each)


def _evidence_lines(each: Evidence) -> Iterator[str]:
    scores = "   ".join(f"{name} {score:.3g}" for name, score in each.scores.items())
    notes = [each.mark] * bool(each.mark) + ["in the smallest set"] * each.is_in_smallest
    yield f"{each.rank}. {scores}" + (f"   ({', '.join(notes)})" if notes else "")
    yield f"   {marked_text(each.sentence)}"
    if each.seen != each.sentence.tokens:
        yield f"   the model saw: {' '.join(each.seen)}"
    if each.word_scores:
        top = sorted(zip(each.seen, each.word_scores, strict=True), key=lambda scored: -scored[1])[:_NUM_WORDS_SHOWN]
        counted = [f"{word} {score:+.2f}" for word, score in top if score > 0]
        yield f"   most important words: {', '.join(counted) or 'none'}"


def marked_text(sentence: Sentence) -> str:
    """Return the sentence as written in its document, with the head in square and the tail in curly brackets.

    A pronoun or a short name is followed by the name that it stands for: [he = Ada Lovelace].
    """
    gaps, tokens = map(list, zip(*with_brackets(as_written(sentence.tokens, sentence.source)), strict=True))
    for mention, (left, right) in ((sentence.head, "[]"), (sentence.tail, "{}")):
        for start, stop in mention.spans:
            tokens[start] = left + tokens[start]
            tokens[stop - 1] += right
        written = [" ".join(sentence.tokens[slice(*span)]) for span in mention.spans]
        if name := antecedent(written, mention.name):
            last = mention.spans[0].stop - 1
            tokens[last] = f"{tokens[last].removesuffix(right)} = {name}{right}"
    return "".join(map(add, gaps, tokens))


def _evidence_dict(each: Evidence) -> dict[str, Any]:
    sentence = each.sentence
    return {
        "rank": each.rank,
        "text": sentence.text,
        "tokens": list(sentence.tokens),
        "head_spans": [list(span) for span in sentence.head.spans],
        "tail_spans": [list(span) for span in sentence.tail.spans],
        "source": sentence.source._asdict() if sentence.source else None,
        "scores": each.scores,
        "is_in_smallest": each.is_in_smallest,
        "mark": each.mark or None,
        "seen": list(each.seen),
        "word_scores": list(each.word_scores),
    }


def support_sentence(support: Support, probability: float, threshold: float | None, num_sentences: int) -> str:
    """Return a sentence that says what a prediction rests on; the threshold is None if unknown.

    >>> support_sentence(Support("not_predicted", 0, 0.1, 0.1, 0.05), 0.04, 0.5, 3)
    'Not predicted (0.04 is below 0.5).'
    """
    # Files written by 0.1 do not say how many sentences are each enough.
    is_counted = support.kind != SEVERAL_SENTENCES or support.num_enough is not None
    kind = support.kind if is_counted else SENTENCES_TOGETHER
    label = SUPPORT_LABELS.get(kind, kind).capitalize()
    if support.kind == NOT_PREDICTED:
        return f"{label} ({_below(probability, threshold)})."
    if threshold is not None:
        label += f" at the threshold {threshold:.3g}"
    if support.kind == NOT_SENTENCES:
        return (
            f"{label}: even without any sentence the probability is {support.probability_of_none:.2f}"
            f" (with all {num_sentences:,}: {probability:.2f})."
        )
    if num_sentences == 1:
        return f"{label}: without it the probability falls from {probability:.2f} to {support.probability_without:.2f}."
    if kind == SEVERAL_SENTENCES:
        return f"{label}: {_enough(support, num_sentences)}"
    return f"{label}: {_kept(support, num_sentences)}{_removed(support, num_sentences)}"


def _below(probability: float, threshold: float | None) -> str:
    """Return the comparison with enough digits to show that it is true."""
    if threshold is None:
        return f"{probability:.2f} is below the threshold"
    texts = (f"{probability:.{digits}f}" for digits in range(2, 17))
    shown = next((text for text in texts if float(text) < threshold), repr(probability))
    return f"{shown} is below {threshold:g}"


def _enough(support: Support, num_sentences: int) -> str:
    left = num_sentences - support.num_smallest
    best = "one" if support.num_smallest == 1 else f"{support.num_smallest:,}"
    others = "the other still reaches" if left == 1 else "the others still reach"
    return (
        f"{support.num_enough:,} of {num_sentences:,} sentences are each enough;"
        f" without the best {best} {others} {support.probability_without:.2f}."
    )


def _kept(support: Support, num_sentences: int) -> str:
    num, alone = support.num_smallest, support.probability_with
    if num == num_sentences:
        return f"the prediction needs all {num:,} ({alone:.2f})"
    keep = "keeps" if num == 1 else "together keep"
    return f"{num:,} of {num_sentences:,} {keep} the prediction ({alone:.2f} without the others)"


def _removed(support: Support, num_sentences: int) -> str:
    left, without = num_sentences - support.num_smallest, support.probability_without
    if support.kind == SEVERAL_SENTENCES or support.num_enough is not None:
        others = "the other does too" if left == 1 else f"the {left:,} others together do too"
        return f", and {others} ({without:.2f})."
    them = "it" if support.num_smallest == 1 else "them"
    return f"; without {them} the probability falls to {without:.2f}."
