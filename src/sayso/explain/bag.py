"""Explain one bag, for `sayso explain` and `Model.explain`."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sayso.errors import BadArgumentError
from sayso.explain import mechanisms_named, ranked_by
from sayso.explain.facts import ExplainedFacts, explain_facts
from sayso.explain.faithfulness import Encoded, sigmoid
from sayso.explain.trained_run import TrainedRun
from sayso.explain.words import WordScores, top_word_scores
from sayso.facts.explanation import Evidence, Explanation
from sayso.features.batch import Part
from sayso.features.lexicon import TypesById
from sayso.features.user_input import read_bags, too_far_apart_message
from sayso.model.checkpoint import ModelParts
from sayso.model.predict import refuse_not_finite, slices_of_logits
from sayso.records import Bag, Sentence, Support
from sayso.store.marks import MARK_LABELS, SentenceMarks


@dataclass(frozen=True, kw_only=True)
class BagToExplain:
    """A bag as the model reads it (a part with only this bag) and as the user reads it.

    `labels` are the pair's relations in the knowledge base, None if unknown; `marks` are annotators' labels on
    the sentences, by relation and index of the sentence in the bag.
    """

    part: Part
    sentences: Sequence[Sentence]
    head_type: str
    tail_type: str
    labels: frozenset[str] | None = None
    marks: dict[tuple[str, int], str] = field(default_factory=dict)


def bag_of_run(run: TrainedRun, index: int, marks: SentenceMarks) -> BagToExplain:
    """Return a bag from the run's part, with the marks on its sentences."""
    table, lexicon = run.table, run.model.lexicon
    bag = run.store.bag(table, index)
    first, stop = table.first_B1[index : index + 2].tolist()
    return BagToExplain(
        part=run.as_part(table.take_bags(np.array([index]))),
        sentences=bag.sentences,
        head_type=lexicon.types[int(lexicon.type_E[table.head_B[index]])],
        tail_type=lexicon.types[int(lexicon.type_E[table.tail_B[index]])],
        labels=bag.relations,
        marks={
            (run.model.relations[relation].name, row - first): MARK_LABELS.get(mark, "")
            for (row, relation), mark in marks.by_sentence.items()
            if first <= row < stop
        },
    )


def own_bag(model: ModelParts, bag: Bag, types: TypesById | None = None) -> BagToExplain:
    """Prepare a bag built by the user; raise `BadArgumentError` if none of its sentences can be read."""
    own = read_bags([bag], model.lexicon)
    if not own.sentences:
        reason = too_far_apart_message(model.lexicon)
        raise BadArgumentError(f"cannot read any sentence of ({bag.head_id}, {bag.tail_id}): {reason}")
    bags = own.input_bags(len(model.relations), types, model.extractor.config.use_entities)
    type_L, names = bags.entities.type_L, model.lexicon.types
    return BagToExplain(
        part=bags.part,
        sentences=tuple(own.sentences),
        head_type=names[int(type_L[bags.head_B[0]])],
        tail_type=names[int(type_L[bags.tail_B[0]])],
        labels=bag.relations or None,
    )


def explain_bag(
    model: ModelParts,
    bag: BagToExplain,
    relations: Sequence[str] = (),
    methods: Sequence[str] | None = None,
    threshold: float = 0.5,
) -> list[Explanation]:
    """Return explanations of the bag's relations, most probable first.

    Without `relations`, explain those whose probability reaches the threshold, or else the most probable one. Raises
    `BadArgumentError` (a `ValueError`) on a relation that the model does not know.
    """
    mechanisms = mechanisms_named(methods)
    ((batch, vector_ND, logit_BR),) = slices_of_logits(model.extractor, bag.part)
    (logit_R,) = refuse_not_finite(logit_BR.cpu().numpy())
    wanted = np.array(_wanted(model, relations, sigmoid(logit_R), threshold), np.int64)
    encoded = Encoded(model.extractor, vector_ND, batch.bags, bag_F=np.zeros_like(wanted), relation_F=wanted)
    explained = explain_facts(encoded, logit_R[wanted], mechanisms, threshold)
    words = top_word_scores(model.extractor, bag.part, explained, vector_ND)
    found = [explanation_of(model, bag, explained, words, fact, threshold) for fact in range(len(wanted))]
    return sorted(found, key=lambda each: -each.probability)


def explanation_of(
    model: ModelParts,
    bag: BagToExplain,
    explained: ExplainedFacts,
    words: WordScores,
    fact: int,
    threshold: float,
    first_row: int = 0,
) -> Explanation:
    """Return the explanation of one fact of this bag, whose sentences start at `first_row` in `explained`."""
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
        evidence=_evidence(model, bag, explained, words, fact, first_row),
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
            raise BadArgumentError(f"relation {name!r} is not one of the model's {len(known):,} relations")
    return sorted({known[name] for name in names})


def _evidence(
    model: ModelParts, bag: BagToExplain, explained: ExplainedFacts, words: WordScores, fact: int, first_row: int
) -> tuple[Evidence, ...]:
    """Return the sentences of a fact in rank order."""
    rows_of_fact = np.flatnonzero(words.fact_W == fact).tolist()
    word_scores = {int(words.sentence_W[row]): tuple(words.scores.row(row).tolist()) for row in rows_of_fact}
    relation = model.relations[int(explained.relation_F[fact])].name
    rows, found = range(*explained.sentences.start[fact : fact + 2].tolist()), []
    for row, sentence_row in zip(rows, explained.sentences.row(fact).tolist(), strict=True):
        place = sentence_row - first_row
        evidence = Evidence(
            sentence=bag.sentences[place],
            scores={name: float(score_E[row]) for name, score_E in explained.scores.items()},
            rank=int(explained.rank_E[row]),
            is_in_smallest=bool(explained.in_smallest_E[row]),
            seen=tuple(model.lexicon.text_of(token) for token in bag.part.inputs.tokens.row(place).tolist()),
            word_scores=word_scores.get(sentence_row, ()),
            mark=bag.marks.get((relation, place), ""),
        )
        found.append(evidence)
    return tuple(sorted(found, key=lambda each: each.rank))


def support_of(explained: ExplainedFacts, fact: int) -> Support:
    """Return what the prediction of a fact rests on."""
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
