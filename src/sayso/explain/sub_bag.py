"""Logits of subsets of a bag's sentences, in slices of bounded size: the basis of removal and Shapley values.

Shapes: B bags, N sentences of all bags together, D width of a sentence vector, R relations, C sub-bags.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from sayso.features.batch import BagIndex
from sayso.model.extractor import Extractor
from sayso.model.ragged import bag_starts
from sayso.store.rows import Rows

SENTENCES_AT_A_TIME = 2**16
"""Maximum number of sentences of sub-bags that are classified at once."""
SUBSET_SENTENCES_AT_A_TIME = 2**14


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


def sentences_of(bags: BagIndex) -> Rows:
    """Return the index of each bag's sentences."""
    return Rows(np.arange(bags.num_sentences), bag_starts(bags.bag_N, bags.num_bags).cpu().numpy())


def empty_bag_logits(extractor: Extractor, bags: BagIndex) -> Tensor:
    """Return logit_BR for the bags without their sentences: x̄ = 0, with the entity terms."""
    relation_RD = extractor.scorer.relation_RD
    nothing_BD = relation_RD.new_zeros(bags.num_bags, relation_RD.shape[1])
    return extractor.calibrated(extractor.scorer.score_pooled(nothing_BD, bags))


def sub_bag_logits(
    extractor: Extractor, vector_ND: Tensor, bags: BagIndex, bag_C: np.ndarray, sentences: Rows
) -> Tensor:
    """Return logit_CR by running the model on bags `bag_C` with only the sentences in their row, which may be empty."""
    device = vector_ND.device
    # Aggregators never get empty bags: a maximum over no sentences is −inf.
    filled = np.flatnonzero(sentences.length)
    index = bags.with_sizes(bag_C[filled], sentences.length[filled])
    found_CR = extractor.classify(vector_ND[torch.from_numpy(sentences.value).to(device)], index)
    logit_CR = empty_bag_logits(extractor, bags)[torch.from_numpy(bag_C).to(device)]
    return logit_CR.index_copy(0, torch.from_numpy(filled).to(device), found_CR)
