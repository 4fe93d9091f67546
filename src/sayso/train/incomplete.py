"""The facts that an incomplete knowledge base may lack, by the types of their pair.

Shapes: B bags, K pairs of entity types, R relations.
"""

import numpy as np
import torch
from torch import Tensor

from sayso.features.batch import Part
from sayso.store.group import combined


class CompatibleFacts:
    """The facts that a pair without relations may have: a training pair with the same types has the relation.

    Args:
        train: The training part.
        type_E: The type of each entity.
        weight: The weight of these facts in the bag term; all others have weight 1.
    """

    def __init__(self, train: Part, type_E: np.ndarray, weight: float) -> None:
        table = train.table
        types_B = combined(type_E[table.head_B], type_E[table.tail_B])
        kinds_K, self._kind_B = np.unique(types_B, return_inverse=True)
        is_seen_KR = np.zeros((len(kinds_K), train.num_relations), np.bool_)
        is_seen_KR[np.repeat(self._kind_B, table.relations.length), table.relations.value] = True
        self._weight_KR = np.where(is_seen_KR, np.float32(weight), np.float32(1.0))
        self._is_positive_B = table.is_positive_B

    def weights(self, bags: np.ndarray) -> Tensor:
        """Return weight_BR of these bags."""
        weight_BR = np.where(self._is_positive_B[bags, None], np.float32(1.0), self._weight_KR[self._kind_B[bags]])
        return torch.from_numpy(weight_BR)
