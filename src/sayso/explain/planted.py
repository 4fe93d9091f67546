"""The distractor test: how a mechanism ranks a planted sentence that should not count.

Shapes: N sentences, D width of a sentence vector, F facts, M facts that have a distractor.
"""

from collections.abc import Mapping

import numpy as np
import torch

from sayso.distractors import DistractorPool, insert
from sayso.explain.base import Explainer, explain_all
from sayso.explain.sub_bag import SUBSET_SENTENCES_AT_A_TIME, slices_by_cost
from sayso.explain.sufficient import Encoded
from sayso.explain.trained_run import TrainedRun
from sayso.features.batch import BagIndex
from sayso.features.mentions import ModelInput
from sayso.model.predict import encode_in_pieces
from sayso.seeding import sub_seed
from sayso.store.rows import Rows, ranges


class PlantedDistractors:
    """One distractor per fact of a part, drawn from the training part; the same for all runs with these facts."""

    def __init__(self, run: TrainedRun, bag_F: np.ndarray, relation_F: np.ndarray) -> None:
        table, type_E = run.part.table, run.model.lexicon.type_E
        pool = DistractorPool(run.store.part("train"), type_E)
        kind_B = DistractorPool(table, type_E).kind_B
        rng = np.random.default_rng(sub_seed(0, "planted distractor"))
        # The pool identifies facts by their bag; here each fact gets its own number.
        chosen = pool.draw(np.arange(len(bag_F)), relation_F, kind_B[bag_F], rng)
        self.fact_M = chosen.bag_M
        self.inputs = run.read_table(insert(table, pool.table, chosen._replace(bag_M=bag_F[chosen.bag_M])))

    def of_facts(self, first: int, stop: int) -> tuple[np.ndarray, ModelInput]:
        """Return the facts of this range that have a distractor, numbered from its start, and their distractors."""
        index = np.flatnonzero((self.fact_M >= first) & (self.fact_M < stop))
        return self.fact_M[index] - first, self.inputs.take(index)


@torch.no_grad()
def planted_ranks(
    encoded: Encoded, sentences: Rows, planted: tuple[np.ndarray, ModelInput], mechanisms: Mapping[str, Explainer]
) -> dict[str, np.ndarray]:
    """Return the rank of each fact's distractor among the bag's sentences, by mechanism; NaN if it has none.

    Rank 1 is the most important of the bag's sentences and the distractor. Ties get their mean rank.
    """
    fact_M, inputs = planted
    rank_F = {name: np.full(len(sentences), np.nan, np.float32) for name in mechanisms}
    if not len(fact_M):
        return rank_F
    device = encoded.vector_ND.device
    vector_ND = torch.cat([encoded.vector_ND, encode_in_pieces(encoded.extractor, inputs, device)])
    rows = _with_last(sentences.take(fact_M), len(encoded.vector_ND) + np.arange(len(fact_M)))
    for some in slices_by_cost(rows.length, SUBSET_SENTENCES_AT_A_TIME):
        taken, facts = rows.take(np.arange(some.start, some.stop)), fact_M[some]
        bag = torch.from_numpy(encoded.bag_F[facts]).to(device)
        bags = BagIndex(
            bag_N=torch.from_numpy(np.repeat(np.arange(len(facts)), taken.length)).to(device),
            head_B=encoded.bags.head_B[bag],
            tail_B=encoded.bags.tail_B[bag],
        )
        vectors = vector_ND[torch.from_numpy(taken.value).to(device)]
        for name, score_NR in explain_all(mechanisms, encoded.extractor, vectors, bags).items():
            relation_N = np.repeat(encoded.relation_F[facts], taken.length)
            score_N = score_NR.cpu().numpy()[np.arange(len(relation_N)), relation_N]
            rank_F[name][facts] = _rank_of_last(Rows(score_N, taken.start))
    return rank_F


def _with_last(rows: Rows, last: np.ndarray) -> Rows:
    """Return the rows with one more value each."""
    length = rows.length + 1
    longer = Rows.of_lengths(np.empty(int(length.sum()), np.int64), length)
    longer.value[ranges(longer.start[:-1], rows.length)] = rows.value
    longer.value[longer.start[1:] - 1] = last
    return longer


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
