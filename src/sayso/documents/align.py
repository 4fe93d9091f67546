"""Distant supervision: the entity pairs in a sentence, and their relations in the knowledge base."""

import hashlib
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import NamedTuple


class AlignedPair(NamedTuple):
    """Two entities in a sentence, their relations in the knowledge base, and whether the pair is used for training."""

    head_id: str
    tail_id: str
    relations: tuple[str, ...]
    is_for_training: bool


class Aligner:
    """Pairs the entities in a sentence.

    All related pairs and a fraction of the others are used for training. The choice depends only on the pair and the
    seed, so it is the same in every shard, including shards that are appended later.
    """

    def __init__(
        self, facts: Mapping[tuple[str, str], tuple[str, ...]], na_share: float, seed: int, max_pairs: int
    ) -> None:
        self._facts, self._seed, self._max_pairs = facts, seed, max_pairs
        self._bound = round(na_share * 2**64)

    def align(self, entity_ids: Sequence[str]) -> tuple[list[AlignedPair], int]:
        """Return the ordered pairs of distinct entities, and the number left out beyond `max_pairs`.

        Related pairs are kept first, then those with the lowest `pair_number`.
        """
        pairs = [self._pair(*pair) for pair in permutations(entity_ids, 2)]
        if len(pairs) <= self._max_pairs:
            return pairs, 0
        kept = set(sorted(pairs, key=self._rank)[: self._max_pairs])
        return [pair for pair in pairs if pair in kept], len(pairs) - len(kept)

    def _pair(self, head_id: str, tail_id: str) -> AlignedPair:
        relations = self._facts.get((head_id, tail_id), ())
        is_for_training = bool(relations) or pair_number(head_id, tail_id, self._seed) < self._bound
        return AlignedPair(head_id, tail_id, relations, is_for_training)

    def _rank(self, pair: AlignedPair) -> tuple[bool, int]:
        return not pair.relations, pair_number(pair.head_id, pair.tail_id, self._seed)


def pair_number(head_id: str, tail_id: str, seed: int) -> int:
    """Return a pseudo-random number below 2**64 that depends only on the pair and the seed."""
    return int.from_bytes(hashlib.blake2b(f"{seed}\t{head_id}\t{tail_id}".encode(), digest_size=8).digest())
