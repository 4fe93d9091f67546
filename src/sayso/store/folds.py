"""Folds of pairs: each known fact is withheld once, to see whether a model trained without it finds it again.

The fold of a pair depends only on its two entities and the seed, so new documents or decisions do not move other pairs.
Shapes: B bags, N sentences in all bags.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sayso.documents.corpus import na_share_of, num_rest_lines
from sayso.documents.entity_graph import is_new_entity
from sayso.errors import BadInputError
from sayso.io.checksum import is_verifying
from sayso.records import Sentence
from sayso.seeding import pair_number, sub_seed
from sayso.store.columns import is_within, read_columns, to_numpy
from sayso.store.group import Grouped
from sayso.store.inputs import Inputs, SentenceFiles
from sayso.store.rows import Rows
from sayso.store.store import Store, folds_file
from sayso.store.table import BagTable

MAX_REST_LINES = 200_000
"""Approximate number of lines of unlabelled pairs in a store with folds; more would not improve its estimates."""


@dataclass(frozen=True, kw_only=True)
class PairFolds:
    """The fold of each bag, from 1, and whether it would have been kept for training as an NA pair.

    A withheld fact is like a true fact that the knowledge base lacks: its pair is among the NA pairs, of which a share
    is kept for training.
    """

    fold_B: np.ndarray
    stays_B: np.ndarray

    def take(self, bags: np.ndarray) -> "PairFolds":
        """Return the folds of these bags."""
        return PairFolds(fold_B=self.fold_B[bags], stays_B=self.stays_B[bags])


def pair_folds(table: BagTable, ids: Sequence[str], num_folds: int, seed: int, na_share: float) -> PairFolds:
    """Return the folds of the bags; `ids` are the ids of the table's entities."""
    drawn = np.array([_numbers(ids[head], ids[tail], seed) for head, tail in table.pairs], np.uint64).reshape(-1, 2)
    fold_B = (drawn[:, 0] % np.uint64(num_folds)).astype(np.int16) + 1
    # Compared in floating point: 2**64 does not fit the numbers.
    return PairFolds(fold_B=fold_B, stays_B=drawn[:, 1].astype(np.float64) < na_share * 2.0**64)


def _numbers(head_id: str, tail_id: str, seed: int) -> tuple[int, int]:
    """Return two numbers below 2**64, the same for a pair and its reverse."""
    text = "\t".join((str(seed), *sorted((head_id, tail_id))))
    digest = hashlib.blake2b(text.encode(), digest_size=16, person=b"folds").digest()
    return int.from_bytes(digest[:8]), int.from_bytes(digest[8:])


def fold_report(grouped: Grouped, fold_B: np.ndarray, num_folds: int) -> dict[str, Any]:
    """Return the facts of each fold, and what a split without shared sentences would leave out, as a mean per fold."""
    table, num_left_out = grouped.table, np.zeros((num_folds, 2), np.int64)
    fold_N = fold_B[table.bag_N]
    facts_B = table.relations.length
    for index in range(num_folds):
        is_held_N = fold_N == index + 1
        is_shared_N = np.isin(grouped.key_N, grouped.key_N[is_held_N]) & ~is_held_N
        left_B = np.bincount(table.bag_N[~is_held_N & ~is_shared_N], minlength=table.num_bags) > 0
        num_left_out[index] = is_shared_N.sum(), facts_B[(fold_B != index + 1) & ~left_B].sum()
    return {
        "num": num_folds,
        "num_facts": [int(facts_B[fold_B == number].sum()) for number in range(1, num_folds + 1)],
        "num_sentences_shared": round(float(num_left_out[:, 0].mean())),
        "num_facts_only_in_shared": round(float(num_left_out[:, 1].mean())),
    }


def na_shares(inputs: Inputs) -> dict[str, float]:
    """Return the fraction of NA pairs that `sayso build` kept for each part; validation is taken from training."""
    found = {part: na_share_of(path) for part, path in (("train", inputs.train), ("test", inputs.test)) if path}
    return {**found, "validation": found["train"]}


def rest_share(path: Path) -> float:
    """Return the fraction of the pairs of `rest` that a store with folds keeps; 1 unless there are very many."""
    return min(1.0, MAX_REST_LINES / max(num_rest_lines(path), 1))


def read_unlabelled(files: SentenceFiles, share: float, seed: int) -> Iterator[Sentence]:
    """Yield the sentences of a sample of the pairs of `rest`, chosen by their ids, without labels.

    Pairs with a new entity are left out: the expected precision is about entities of the knowledge base.
    """
    # A different seed from that of `sayso build`, which chose the pairs of `rest` by the same kind of number.
    bound, seed = round(share * 2**64), sub_seed(seed, "rest")
    files.tallies.pop("rest", None)  # read before, for decided pairs
    for sentence in files.read("rest", None):
        if pair_number(*sentence.pair, seed) < bound and not any(map(is_new_entity, sentence.pair)):
            yield sentence._replace(relations=())


def folds_of(store: Store, part: str) -> PairFolds:
    """Return the folds of a part's pairs."""
    name = f"{folds_file(part)}.arrow"
    columns = read_columns(store.files, name, "fold", "stays")
    fold_B, stays_B = (np.asarray(to_numpy(columns[each])) for each in ("fold", "stays"))
    if is_verifying() and not is_within(fold_B, 1, store.num_folds + 1):
        raise BadInputError(f"{store.folder / name}: a fold is out of range: prepare the store again")
    return PairFolds(fold_B=fold_B, stays_B=stays_B != 0)


class Withheld(NamedTuple):
    """The training bags without the facts of a fold, each bag's original index, and whether its facts are withheld."""

    table: BagTable
    bag_B: np.ndarray
    is_withheld_B: np.ndarray


def withhold(table: BagTable, folds: PairFolds, fold: int) -> Withheld:
    """Withhold the facts of a fold: their pairs become NA pairs, and are sampled like other NA pairs (`stays_B`)."""
    is_withheld_B = (folds.fold_B == fold) & table.is_positive_B
    bag_B = np.flatnonzero(~is_withheld_B | folds.stays_B)
    kept, is_withheld_B = table.take_bags(bag_B), is_withheld_B[bag_B]
    length_B = np.where(is_withheld_B, 0, kept.relations.length)
    value = kept.relations.value[np.repeat(~is_withheld_B, kept.relations.length)]
    return Withheld(replace(kept, relations=Rows.of_lengths(value, length_B)), bag_B, is_withheld_B)


class HeldOutPairs(NamedTuple):
    """The pairs of a fold with their facts, and how many pairs of the whole corpus each stands for."""

    table: BagTable
    weight_B: np.ndarray


def held_out_pairs(store: Store, fold: int) -> HeldOutPairs:
    """Return the labelled and unlabelled pairs of a fold, including those of `rest`."""
    parts = [part for part in ("train", "rest") if part in store.parts]
    bags = {part: np.flatnonzero(folds_of(store, part).fold_B == fold) for part in parts}
    tables = {part: store.part(part).take_bags(bags[part]) for part in parts}
    # Without `rest`, the sampled NA pairs stand for all others.
    share = {"train": 1.0 if "rest" in parts else store.na_share("train")}
    share["rest"] = float(store.manifest["folds"].get("rest_share", 1.0))
    weights = [np.where(tables[part].is_positive_B, 1.0, 1.0 / share[part]) for part in parts]
    return HeldOutPairs(BagTable.concatenate([tables[part] for part in parts]), np.concatenate(weights))
