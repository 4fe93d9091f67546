"""One fine-grained type per entity: the finest it has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sayso.store.table import BagTable
from sayso.store.vocabulary import Numbering

OTHER_TYPE = "/other"


@dataclass(frozen=True, kw_only=True)
class EntityTypes:
    """The type of every entity as a number of `names`; number 0 is `/other`, for entities without a type."""

    names: list[str]
    type_E: np.ndarray

    @property
    def num_other(self) -> int:
        """Entities without a type."""
        return int((self.type_E == 0).sum())


def finest_types(entity_ids: Sequence[str], types: Mapping[str, Sequence[str]], mentions_E: np.ndarray) -> EntityTypes:
    """Return each entity's finest type; of several equally fine ones the most frequent in training, then by name.

    `mentions_E` is how often training sentences name each entity; it gives every type its frequency.
    """
    frequency: dict[str, int] = {}
    for entity_id, count in zip(entity_ids, mentions_E.tolist(), strict=True):
        for name in types.get(entity_id, ()):
            frequency[name] = frequency.get(name, 0) + count

    def coarseness(name: str) -> tuple[int, int, str]:
        return -name.strip("/").count("/"), -frequency[name], name

    numbers = Numbering([OTHER_TYPE])
    type_E = [numbers[min(types[entity_id], key=coarseness)] if types.get(entity_id) else 0 for entity_id in entity_ids]
    return EntityTypes(names=list(numbers), type_E=np.array(type_E, np.int32))


def count_mentions(table: BagTable, num_entities: int) -> np.ndarray:
    """Return how many sentences of the table name each entity as head or tail."""
    return sum(
        np.bincount(entity_B, weights=table.size_B, minlength=num_entities) for entity_B in (table.head_B, table.tail_B)
    ).astype(np.int64)  # type: ignore[union-attr]
