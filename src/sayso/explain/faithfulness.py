"""Checks on explanations: what a prediction rests on, and how mechanisms rank a planted sentence that should not count.

Shapes: N sentences, D width of a sentence vector, F facts, E sentences of all facts, grouped by fact, M facts that have
a distractor. Probabilities are those of the fact's relation.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sayso.distractors import DistractorPool, insert
from sayso.explain.base import SUBSET_SENTENCES_AT_A_TIME, Explainer, explain_all, sub_bag_logits
from sayso.explain.trained_run import TrainedRun
from sayso.features.batch import BagIndex
from sayso.features.mentions import ModelInput
from sayso.memory import slices_by_cost
from sayso.model.extractor import Extractor
from sayso.model.predict import encode_in_pieces
from sayso.records import NOT_PREDICTED, NOT_SENTENCES, ONE_SENTENCE, SENTENCES_TOGETHER, SEVERAL_SENTENCES
from sayso.seeding import sub_seed
from sayso.store.rows import Rows, ranges

KEEPS_WITHIN = 0.05
"""A set of sentences keeps a prediction if the probability stays above the threshold and falls by at most this much."""
LARGEST_SET = 32
"""The search stops at this size; the smallest set is then the whole bag."""


@dataclass(frozen=True)
class Encoded:
    """Encoded bags, and the bag and relation of each fact to explain."""

    extractor: Extractor
    vector_ND: Tensor
    bags: BagIndex
    bag_F: np.ndarray
    relation_F: np.ndarray

    @torch.no_grad()
    def probability(self, sentences: Rows, facts: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return each fact's probability if its bag has only the sentences in its row, which may be empty."""
        bag_F, relation_F = self.bag_F[facts], self.relation_F[facts]
        logits = [np.zeros(0, np.float32)]
        for some in slices_by_cost(np.maximum(sentences.length, 1), SUBSET_SENTENCES_AT_A_TIME):
            taken = sentences.take(np.arange(some.start, some.stop))
            logit_FR = sub_bag_logits(self.extractor, self.vector_ND, self.bags, bag_F[some], taken)
            relation = torch.from_numpy(relation_F[some, None]).to(logit_FR.device)
            logits.append(logit_FR.gather(1, relation)[:, 0].cpu().numpy())
        return sigmoid(np.concatenate(logits))


@dataclass(frozen=True, kw_only=True)
class Sufficient:
    """The smallest set of each fact: its size, and the probability with it, without it, and without any sentence.

    `num_enough_F` is the number of sentences that reach the threshold alone. It is counted only for facts that are
    still predicted without their smallest set, and is −1 for all others.
    """

    size_F: np.ndarray
    with_set_F: np.ndarray
    without_set_F: np.ndarray
    without_any_F: np.ndarray
    num_enough_F: np.ndarray
    kinds: list[str]


def sigmoid(logit: np.ndarray) -> np.ndarray:
    """Return probabilities, in float64 and without overflow."""
    probability: np.ndarray = 0.5 * (1.0 + np.tanh(0.5 * logit.astype(np.float64)))
    return probability


def first_of(ranked: Rows, num_F: np.ndarray) -> Rows:
    """Return the first `num_F` sentences of each row."""
    return Rows.of_lengths(ranked.value[ranges(ranked.start[:-1], num_F)], num_F)


def after(ranked: Rows, num_F: np.ndarray) -> Rows:
    """Return each row without its first `num_F` sentences."""
    left_F = ranked.length - num_F
    return Rows.of_lengths(ranked.value[ranges(ranked.start[:-1] + num_F, left_F)], left_F)


def smallest_sets(
    encoded: Encoded, ranked: Rows, probability_F: np.ndarray, threshold: float | np.ndarray
) -> Sufficient:
    """Return the shortest prefix of the ranked sentences that keeps each prediction, and its probabilities.

    The set is empty for a fact that is not predicted, or is predicted even without sentences. `threshold` is one number
    for all facts, or one per fact.
    """
    num = len(ranked)
    without_any_F = encoded.probability(first_of(ranked, np.zeros(num, np.int64)))
    is_predicted_F = probability_F >= threshold
    floor_F = np.maximum(threshold, probability_F - KEEPS_WITHIN)
    size_F = _search(encoded, ranked, floor_F, is_predicted_F & (without_any_F < floor_F))
    without_set_F = encoded.probability(after(ranked, size_F))
    is_repeated_F = is_predicted_F & (without_any_F < threshold) & (without_set_F >= threshold)
    num_enough_F = _num_enough(encoded, ranked, np.broadcast_to(threshold, num), is_repeated_F)
    kinds = np.where((size_F == 1) & ~is_repeated_F, ONE_SENTENCE, SENTENCES_TOGETHER)
    kinds = np.where(num_enough_F >= 2, SEVERAL_SENTENCES, kinds)
    kinds = np.where(without_any_F >= threshold, NOT_SENTENCES, kinds)
    kinds = np.where(is_predicted_F, kinds, NOT_PREDICTED)
    return Sufficient(
        size_F=size_F,
        with_set_F=encoded.probability(first_of(ranked, size_F)),
        without_set_F=without_set_F,
        without_any_F=without_any_F,
        num_enough_F=num_enough_F,
        kinds=kinds.tolist(),
    )


def _search(encoded: Encoded, ranked: Rows, floor_F: np.ndarray, is_open_F: np.ndarray) -> np.ndarray:
    """Return how many sentences keep each open fact above its floor, trying 1, 2, … for all facts at once."""
    size_F = np.where(is_open_F, ranked.length, 0)
    open_facts = np.flatnonzero(is_open_F)
    for size in range(1, LARGEST_SET + 1):
        open_facts = open_facts[ranked.length[open_facts] > size]
        if not len(open_facts):
            break
        tried = first_of(ranked.take(open_facts), np.full(len(open_facts), size))
        keeps = encoded.probability(tried, open_facts) >= floor_F[open_facts]
        size_F[open_facts[keeps]] = size
        open_facts = open_facts[~keeps]
    return size_F


def _num_enough(encoded: Encoded, ranked: Rows, threshold_F: np.ndarray, is_counted_F: np.ndarray) -> np.ndarray:
    """Return how many sentences of each fact reach the threshold alone; −1 for facts that are not counted."""
    facts = np.flatnonzero(is_counted_F)
    counted = ranked.take(facts)
    fact_E = np.repeat(facts, counted.length)
    alone = Rows.of_lengths(counted.value, np.ones(len(fact_E), np.int64))
    is_enough_E = encoded.probability(alone, fact_E) >= threshold_F[fact_E]
    return np.where(is_counted_F, np.bincount(fact_E[is_enough_E], minlength=len(ranked)), -1)


class PlantedDistractors:
    """One distractor per fact of a part, drawn from the training part; the same for all runs with these facts."""

    def __init__(self, run: TrainedRun, bag_F: np.ndarray, relation_F: np.ndarray) -> None:
        table, type_E = run.part.table, run.model.lexicon.type_E
        pool = DistractorPool(run.store.part("train"), type_E)
        kind_B = DistractorPool(table, type_E).kind_B
        rng = np.random.default_rng(sub_seed(0, "planted distractor"))
        # The pool identifies facts by their bag; here each fact gets its own index.
        chosen = pool.draw(np.arange(len(bag_F)), relation_F, kind_B[bag_F], rng)
        self.fact_M = chosen.bag_M
        self.inputs = run.read_table(insert(table, pool.table, chosen._replace(bag_M=bag_F[chosen.bag_M])))

    def of_facts(self, first: int, stop: int) -> tuple[np.ndarray, ModelInput]:
        """Return the facts in this range that have a distractor, as offsets from `first`, and their distractors."""
        index = np.flatnonzero((self.fact_M >= first) & (self.fact_M < stop))
        return self.fact_M[index] - first, self.inputs.take(index)


@torch.no_grad()
def planted_ranks(
    encoded: Encoded, sentences: Rows, planted: tuple[np.ndarray, ModelInput], mechanisms: Mapping[str, Explainer]
) -> dict[str, np.ndarray]:
    """Return the rank of each fact's distractor among the bag's sentences, by mechanism; NaN if it has none.

    The bag's sentences and the distractor are ranked together, the most important first. Ties get their mean rank.
    """
    fact_M, inputs = planted
    rank_F = {name: np.full(len(sentences), np.nan, np.float32) for name in mechanisms}
    if not len(fact_M):
        return rank_F
    device = encoded.vector_ND.device
    vector_ND = torch.cat([encoded.vector_ND, encode_in_pieces(encoded.extractor, inputs, device)])
    own, distractor_M = sentences.take(fact_M), len(encoded.vector_ND) + np.arange(len(fact_M))
    rows = Rows.of_lengths(np.insert(own.value, own.start[1:], distractor_M), own.length + 1)
    for some in slices_by_cost(rows.length, SUBSET_SENTENCES_AT_A_TIME):
        taken, facts = rows.take(np.arange(some.start, some.stop)), fact_M[some]
        bags = encoded.bags.with_sizes(encoded.bag_F[facts], taken.length)
        vectors = vector_ND[torch.from_numpy(taken.value).to(device)]
        for name, score_NR in explain_all(mechanisms, encoded.extractor, vectors, bags).items():
            relation_N = np.repeat(encoded.relation_F[facts], taken.length)
            score_N = score_NR.cpu().numpy()[np.arange(len(relation_N)), relation_N]
            rank_F[name][facts] = _rank_of_last(Rows(score_N, taken.start))
    return rank_F


def _rank_of_last(score: Rows) -> np.ndarray:
    """Return the rank of each row's last score within the row.

    >>> _rank_of_last(Rows.of_lengths(np.array([3.0, 1.0, 2.0, 5.0, 5.0]), np.array([3, 2]))).tolist()
    [2.0, 1.5]
    """
    row_E = np.repeat(np.arange(len(score)), score.length)
    last_E = score.value[score.start[1:] - 1][row_E]
    above = np.bincount(row_E, score.value > last_E, minlength=len(score))
    equal = np.bincount(row_E, score.value == last_E, minlength=len(score)) - 1
    rank: np.ndarray = 1.0 + above + 0.5 * equal
    return rank
