"""What the model would say of a bag with other sentences left in it: the ground of every check on explanations.

Shapes: N sentences of all bags together, D width of a sentence vector, R relations, M sub-bags.
"""

import numpy as np
import torch
from torch import Tensor

from sayso.explain.sub_bag import SubBags, sub_bag_logits
from sayso.features.batch import BagIndex
from sayso.model.extractor import Extractor
from sayso.store.rows import Rows

SENTENCES_AT_A_TIME = 16_384


@torch.no_grad()
def subset_logits(
    extractor: Extractor, vector_ND: Tensor, bags: BagIndex, bag_M: np.ndarray, relation_M: np.ndarray, sentences: Rows
) -> np.ndarray:
    """Return the logit of each relation for each bag with only its row of sentences; a row may be empty."""

    def tensor(values: np.ndarray) -> Tensor:
        return torch.from_numpy(values).to(vector_ND.device)

    logits = [np.zeros(0, np.float32)]
    for part in pieces(np.maximum(sentences.length, 1), SENTENCES_AT_A_TIME):
        taken = sentences.take(part)
        sub_M = np.repeat(np.arange(len(part)), taken.length)
        parts = SubBags(tensor(taken.value), tensor(sub_M), tensor(bag_M[part]))
        logit_MR = sub_bag_logits(extractor, vector_ND, bags, parts)
        logits.append(logit_MR.gather(1, tensor(relation_M[part])[:, None])[:, 0].cpu().numpy())
    return np.concatenate(logits)


def sub_bags(bags: BagIndex, bag_M: np.ndarray, size_M: np.ndarray) -> BagIndex:
    """Return the index of new bags of these sizes, each of the pair of its bag."""
    device = bags.bag_N.device
    bag = torch.from_numpy(bag_M).to(device)
    return BagIndex(
        bag_N=torch.from_numpy(np.repeat(np.arange(len(bag_M)), size_M)).to(device),
        head_B=bags.head_B[bag],
        tail_B=bags.tail_B[bag],
    )


def pieces(length_M: np.ndarray, limit: int) -> list[np.ndarray]:
    """Return the numbers of the rows, cut into pieces of at most this total length, at least one row each.

    >>> [piece.tolist() for piece in pieces(np.array([3, 1, 9, 1]), limit=4)]
    [[0, 1], [2], [3]]
    """
    end = np.cumsum(length_M)
    found, first = [], 0
    while first < len(length_M):
        before = end[first] - length_M[first]
        stop = max(first + 1, int(np.searchsorted(end, before + limit, side="right")))
        found.append(np.arange(first, stop))
        first = stop
    return found
