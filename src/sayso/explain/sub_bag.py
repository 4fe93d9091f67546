"""Logits of subsets of a bag's sentences, in slices of bounded size: the basis of removal and Shapley values.

Shapes: B bags, N sentences of all bags together, D width of a sentence vector, R relations, C sub-bags, M sentences of
all sub-bags together.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from sayso.features.batch import BagIndex
from sayso.model.extractor import Extractor
from sayso.store.rows import Rows

SENTENCES_AT_A_TIME = 2**16
"""Maximum number of sentences of sub-bags that are classified at once."""
SUBSET_SENTENCES_AT_A_TIME = 2**14


class SubBags(NamedTuple):
    """Sub-bags: sentence `row_M[i]` is in sub-bag `sub_M[i]` (non-decreasing), a subset of bag `bag_C[sub]`."""

    row_M: Tensor
    sub_M: Tensor
    bag_C: Tensor


def slices(num: int, at_a_time: int) -> Iterator[slice]:
    """Yield slices that cover 0 to `num`, each at most `at_a_time` long.

    >>> list(slices(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    for first in range(0, num, at_a_time):
        yield slice(first, min(first + at_a_time, num))


def slices_by_cost(cost: Sequence[int] | np.ndarray, limit: int) -> Iterator[slice]:
    """Yield slices that cover all items, each with a total cost of at most `limit`, or with a single item.

    >>> list(slices_by_cost([3, 1, 9, 1], limit=4))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    total = np.concatenate([[0], np.cumsum(cost, dtype=np.int64)])
    first = 0
    while first < len(cost):
        stop = max(first + 1, int(np.searchsorted(total, total[first] + limit, side="right")) - 1)
        yield slice(first, stop)
        first = stop


def bag_sizes(bags: BagIndex) -> Tensor:
    """Return size_B, the number of sentences in each bag."""
    return torch.bincount(bags.bag_N, minlength=bags.num_bags)


def empty_bag_logits(extractor: Extractor, bags: BagIndex) -> Tensor:
    """Return logit_BR for the bags without their sentences: x̄ = 0, with the entity terms."""
    return extractor.calibrated(scores_without_sentences(extractor, bags))


def scores_without_sentences(extractor: Extractor, bags: BagIndex) -> Tensor:
    """Return the logits of the bags without their sentences, before calibration."""
    relation_RD = extractor.scorer.relation_RD
    return extractor.scorer.score_pooled(relation_RD.new_zeros(bags.num_bags, relation_RD.shape[1]), bags)


def sub_bag_logits(extractor: Extractor, vector_ND: Tensor, bags: BagIndex, parts: SubBags) -> Tensor:
    """Return logit_CR by running the model on the sub-bags, some of which may be empty."""
    logit_CR = empty_bag_logits(extractor, bags)[parts.bag_C]
    has_sentences_C = torch.bincount(parts.sub_M, minlength=len(parts.bag_C)) > 0
    # Aggregators never get empty bags: a maximum over no sentences is −inf.
    place_C = has_sentences_C.cumsum(0) - 1
    bag_C = parts.bag_C[has_sentences_C]
    index = BagIndex(bag_N=place_C[parts.sub_M], head_B=bags.head_B[bag_C], tail_B=bags.tail_B[bag_C])
    found_CR = extractor.classify(vector_ND[parts.row_M], index)
    return logit_CR.index_copy(0, has_sentences_C.nonzero()[:, 0], found_CR)


@torch.no_grad()
def subset_logits(
    extractor: Extractor, vector_ND: Tensor, bags: BagIndex, bag_C: np.ndarray, relation_C: np.ndarray, sentences: Rows
) -> np.ndarray:
    """Return the logit of each bag's relation with only its row of `sentences`, which may be empty."""

    def tensor(values: np.ndarray) -> Tensor:
        return torch.from_numpy(values).to(vector_ND.device)

    logits = [np.zeros(0, np.float32)]
    for some in slices_by_cost(np.maximum(sentences.length, 1), SUBSET_SENTENCES_AT_A_TIME):
        taken = sentences.take(np.arange(some.start, some.stop))
        sub_M = np.repeat(np.arange(len(taken)), taken.length)
        parts = SubBags(tensor(taken.value), tensor(sub_M), tensor(bag_C[some]))
        logit_CR = sub_bag_logits(extractor, vector_ND, bags, parts)
        logits.append(logit_CR.gather(1, tensor(relation_C[some])[:, None])[:, 0].cpu().numpy())
    return np.concatenate(logits)
