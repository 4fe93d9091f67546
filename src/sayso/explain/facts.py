"""Explain the facts of a part: every mechanism's score for every sentence of every fact of interest.

Shapes: B bags, N sentences in all bags, R relations, F facts, E sentences of all facts, grouped by fact.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch

from sayso.explain import ranked_by
from sayso.explain.base import Explainer, explain_all, sentences_of
from sayso.explain.faithfulness import (
    Encoded,
    PlantedDistractors,
    Sufficient,
    after,
    first_of,
    planted_ranks,
    sigmoid,
    smallest_sets,
)
from sayso.explain.trained_run import TrainedRun
from sayso.features.batch import BagIndex, Part
from sayso.features.mentions import ModelInput
from sayso.model.extractor import Extractor
from sayso.model.predict import slices_of_logits
from sayso.records import OnProgress, no_progress
from sayso.store.marks import SentenceMarks
from sayso.store.rows import Rows, ranges

Floats = dict[str, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class ExplainedFacts:
    """F facts and their evidence.

    `sentences` are row indices of the part, in bag order; `rank_E` are their ranks by the mechanism that ranks them.
    `only_top` and `without_top` are the probabilities with only a mechanism's top sentences, and without them;
    `planted_rank` is the rank of a planted distractor, NaN if there is none.
    """

    bag_F: np.ndarray
    relation_F: np.ndarray
    logit_F: np.ndarray
    sentences: Rows
    scores: Floats
    rank_E: np.ndarray
    only_top: Floats
    without_top: Floats
    disagreement_F: np.ndarray
    sufficient: Sufficient
    planted_rank: Floats

    @property
    def probability_F(self) -> np.ndarray:
        """The probability of each fact."""
        return sigmoid(self.logit_F)

    @property
    def relation_E(self) -> np.ndarray:
        """The relation of each row of evidence."""
        return np.repeat(self.relation_F, self.sentences.length)

    @property
    def in_smallest_E(self) -> np.ndarray:
        """Whether the sentence is in the smallest set that keeps the prediction."""
        return self.rank_E <= np.repeat(self.sufficient.size_F, self.sentences.length)


def facts_of_interest(
    probability_BR: np.ndarray, run: TrainedRun, marks: SentenceMarks, threshold: float
) -> np.ndarray:
    """Return (bag, relation) for every label, every predicted fact and every marked fact."""
    is_wanted_BR = run.label_BR | (probability_BR >= threshold)
    bag_N = run.part.table.bag_N
    is_wanted_BR[bag_N[marks.keys[:, 0]], marks.keys[:, 1]] = True
    return np.argwhere(is_wanted_BR)


def explain_part(
    run: TrainedRun,
    facts_F2: np.ndarray,
    mechanisms: Mapping[str, Explainer],
    threshold: float,
    num_top: int = 1,
    on_progress: OnProgress = no_progress,
) -> ExplainedFacts:
    """Return explanations of the facts; each row of `facts_F2` is a bag and a relation, sorted by bag."""
    planted = PlantedDistractors(run, facts_F2[:, 0], facts_F2[:, 1])
    extractor, found, done = run.model.extractor, [], 0
    nothing = [(_no_facts(extractor), facts_F2[:, 0], np.zeros(0, np.float32))]
    for encoded, row_N, logit_F in encoded_facts(extractor, run.part, facts_F2) if len(facts_F2) else nothing:
        stop = done + len(logit_F)
        chosen = planted.of_facts(done, stop)
        explained = explain_facts(encoded, logit_F, mechanisms, threshold, num_top, chosen)
        # With bag and sentence indices of the whole part.
        sentences = Rows(row_N[explained.sentences.value], explained.sentences.start)
        found.append(replace(explained, bag_F=facts_F2[done:stop, 0], sentences=sentences))
        done = stop
        on_progress(f"{run.name}: explaining", done, len(facts_F2))
    joined: ExplainedFacts = _joined(found)
    return joined


def encoded_facts(
    extractor: Extractor, part: Part, facts_F2: np.ndarray
) -> Iterator[tuple[Encoded, np.ndarray, np.ndarray]]:
    """Yield slices of the facts: their encoded bags, the row of each sentence in the part, and the facts' logits."""
    bag = 0
    for batch, vector_ND, logit_BR in slices_of_logits(extractor, part):
        num_bags = batch.bags.num_bags
        facts = facts_F2[np.searchsorted(facts_F2[:, 0], bag) : np.searchsorted(facts_F2[:, 0], bag + num_bags)]
        if len(facts):
            bags, place_F = np.unique(facts[:, 0], return_inverse=True)
            row_N = ranges(part.table.first_B1[:-1][bags], part.table.size_B[bags])
            local_N = torch.from_numpy(row_N - part.table.first_B1[bag]).to(vector_ND.device)
            index = batch.bags.with_sizes(bags - bag, part.table.size_B[bags])
            encoded = Encoded(extractor, vector_ND[local_N], index, bag_F=place_F, relation_F=facts[:, 1])
            yield encoded, row_N, logit_BR.cpu().numpy()[facts[:, 0] - bag, facts[:, 1]]
        bag += num_bags


@torch.no_grad()
def explain_facts(
    encoded: Encoded,
    logit_F: np.ndarray,
    mechanisms: Mapping[str, Explainer],
    threshold: float | np.ndarray,
    num_top: int = 1,
    planted: tuple[np.ndarray, ModelInput] | None = None,
) -> ExplainedFacts:
    """Return explanations of facts in encoded bags; sentence indices start at the first of these bags."""
    sentences = sentences_of(encoded.bags).take(encoded.bag_F)
    size_F = sentences.length
    fact_E, relation_E = np.repeat(np.arange(len(size_F)), size_F), np.repeat(encoded.relation_F, size_F)
    score_NR = explain_all(mechanisms, encoded.extractor, encoded.vector_ND, encoded.bags)
    scores = {name: each.cpu().numpy()[sentences.value, relation_E] for name, each in score_NR.items()}
    # By fact, then by descending score; ties keep bag order.
    order = {name: np.lexsort((-score_E, fact_E)) for name, score_E in scores.items()}
    ranked = {name: Rows(sentences.value[order_E], sentences.start) for name, order_E in order.items()}
    leading, rank_E = ranked_by(list(mechanisms)), np.empty(len(fact_E), np.int32)
    rank_E[order[leading]] = ranges(np.ones_like(size_F), size_F)
    top_F = np.minimum(num_top, size_F)
    return ExplainedFacts(
        bag_F=encoded.bag_F,
        relation_F=encoded.relation_F,
        logit_F=logit_F,
        sentences=sentences,
        scores=scores,
        rank_E=rank_E,
        only_top={name: encoded.probability(first_of(rows, top_F)) for name, rows in ranked.items()},
        without_top={name: encoded.probability(after(rows, top_F)) for name, rows in ranked.items()},
        disagreement_F=_disagreement([rows.value[rows.start[:-1]] for rows in ranked.values()]),
        sufficient=smallest_sets(encoded, ranked[leading], sigmoid(logit_F), threshold),
        planted_rank=planted_ranks(encoded, sentences, planted, mechanisms) if planted else {},
    )


def _disagreement(top: list[np.ndarray]) -> np.ndarray:
    """Return, for each fact, the fraction of mechanisms whose top sentence differs from the most common one.

    >>> _disagreement([np.array([1, 5]), np.array([1, 6]), np.array([1, 6]), np.array([1, 6])]).tolist()
    [0.0, 0.25]
    """
    table_MF = np.stack(top)
    votes_F = (table_MF[:, None] == table_MF[None]).sum(1).max(0)
    share_F: np.ndarray = 1.0 - votes_F / len(top)
    return share_F


def _no_facts(extractor: Extractor) -> Encoded:
    nothing, relation_RD = np.zeros(0, np.int64), extractor.scorer.relation_RD
    index = torch.from_numpy(nothing).to(relation_RD.device)
    bags = BagIndex(bag_N=index, head_B=index, tail_B=index)
    return Encoded(extractor, relation_RD.new_zeros(0, relation_RD.shape[1]), bags, bag_F=nothing, relation_F=nothing)


def _joined(parts: Sequence[Any]) -> Any:
    """Concatenate arrays or lists; dicts and records are concatenated field by field."""
    first = parts[0]
    if isinstance(first, np.ndarray):
        return np.concatenate(parts)
    if isinstance(first, Rows):
        return Rows.concatenate(parts)
    if isinstance(first, list):
        return [value for part in parts for value in part]
    if isinstance(first, dict):
        return {key: _joined([part[key] for part in parts]) for key in first}
    return replace(first, **{f.name: _joined([getattr(part, f.name) for part in parts]) for f in fields(first)})
