"""Bags to explanations that people read: what `sayso explain` and the Python library give."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sayso.errors import BadArgumentError
from sayso.explain.facts import ExplainedFacts, encoded_facts, explain_facts
from sayso.explain.mechanism import mechanisms_named, ranked_by
from sayso.explain.subject import read_word
from sayso.explain.sufficient import sigmoid
from sayso.explain.top_words import WordScores, top_word_scores
from sayso.facts.explanation import Explanation
from sayso.features.collate import Part
from sayso.model.checkpoint import ModelParts
from sayso.model.predict import predict_logits
from sayso.records import Evidence, Sentence, Support


@dataclass(frozen=True, kw_only=True)
class AskedBag:
    """A bag that somebody asks about: as the model reads it (from row `first_row` of the part on), and as people do.

    `labels` are the relations that the knowledge base holds for the pair, None where nobody has said; `marks` are
    people's, by relation and place of the sentence.
    """

    part: Part
    sentences: Sequence[Sentence]
    head_type: str
    tail_type: str
    first_row: int = 0
    labels: frozenset[str] | None = None
    marks: dict[tuple[str, int], str] = field(default_factory=dict)


def explain_bag(
    model: ModelParts,
    bag: AskedBag,
    relations: Sequence[str] = (),
    methods: Sequence[str] | None = None,
    threshold: float = 0.5,
) -> list[Explanation]:
    """Return the relations of the bag explained, the most probable first.

    Where none are named: those of at least the threshold, or the most probable one. A name that the model does not
    know is a `ValueError`.
    """
    mechanisms = mechanisms_named(methods)
    (logit_R,) = predict_logits(model.extractor, bag.part)
    wanted = _wanted(model, relations, sigmoid(logit_R), threshold)
    facts_F2 = np.array([(0, number) for number in wanted], np.int64)
    ((encoded, _, logit_F),) = encoded_facts(model.extractor, bag.part, facts_F2)
    explained = explain_facts(encoded, logit_F, mechanisms, threshold)
    words = top_word_scores(model.extractor, bag.part, explained)
    found = [explanation_of(model, bag, explained, words, fact, threshold) for fact in range(len(wanted))]
    return sorted(found, key=lambda each: -each.probability)


def explanation_of(
    model: ModelParts, bag: AskedBag, explained: ExplainedFacts, words: WordScores, fact: int, threshold: float
) -> Explanation:
    """Return one of the explained facts, which is about this bag."""
    relation = model.relations[int(explained.relation_F[fact])].name
    head, tail = bag.sentences[0].head, bag.sentences[0].tail
    return Explanation(
        head_id=head.entity_id,
        head_name=head.name,
        head_type=bag.head_type,
        relation=relation,
        tail_id=tail.entity_id,
        tail_name=tail.name,
        tail_type=bag.tail_type,
        probability=float(explained.probability_F[fact]),
        threshold=threshold,
        is_label=None if bag.labels is None else relation in bag.labels,
        evidence=_evidence(model, bag, explained, words, fact),
        support=support_of(explained, fact),
        ranked_by=ranked_by(list(explained.scores)),
        variant=model.variant,
    )


def _wanted(model: ModelParts, names: Sequence[str], probability_R: np.ndarray, threshold: float) -> list[int]:
    if not names:
        return np.flatnonzero(probability_R >= threshold).tolist() or [int(probability_R.argmax())]
    known = {relation.name: number for number, relation in enumerate(model.relations)}
    for name in names:
        if name not in known:
            raise BadArgumentError(f"relation {name!r} is none of the model's {len(known):,}")
    return sorted({known[name] for name in names})


def _evidence(
    model: ModelParts, bag: AskedBag, explained: ExplainedFacts, words: WordScores, fact: int
) -> tuple[Evidence, ...]:
    """Return the sentences of a fact, the first in rank first."""
    first, stop = explained.sentences.start[fact : fact + 2].tolist()
    asked = np.flatnonzero(words.fact_W == fact).tolist()
    scored = {int(words.sentence_W[row]): tuple(words.scores.row(row).tolist()) for row in asked}
    relation = model.relations[int(explained.relation_F[fact])].name
    tokens, found = bag.part.presented.tokens, []
    for row in range(first, stop):
        sentence_row = int(explained.sentences.value[row])
        place = sentence_row - bag.first_row
        evidence = Evidence(
            sentence=bag.sentences[place],
            scores={name: float(score_E[row]) for name, score_E in explained.scores.items()},
            rank=int(explained.rank_E[row]),
            is_in_smallest=bool(explained.in_smallest_E[row]),
            seen=tuple(read_word(model.lexicon, token) for token in tokens.row(sentence_row).tolist()),
            word_scores=scored.get(sentence_row, ()),
            mark=bag.marks.get((relation, place), ""),
        )
        found.append(evidence)
    return tuple(sorted(found, key=lambda each: each.rank))


def support_of(explained: ExplainedFacts, fact: int) -> Support:
    """Return what one of the explained predictions rests on."""
    sufficient = explained.sufficient
    num_enough = int(sufficient.num_enough_F[fact])
    return Support(
        kind=sufficient.kinds[fact],
        num_smallest=int(sufficient.size_F[fact]),
        probability_with=float(sufficient.with_set_F[fact]),
        probability_without=float(sufficient.without_set_F[fact]),
        probability_of_none=float(sufficient.without_any_F[fact]),
        num_enough=None if num_enough < 0 else num_enough,
    )
