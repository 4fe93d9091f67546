"""The bags of a store from which the facts of a fold are withheld, and the pairs among which they are searched.

Shapes: B bags.
"""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from sayso.errors import BadInputError
from sayso.io.checksum import is_verifying
from sayso.store.columns import is_within, read_columns, to_numpy
from sayso.store.folds import PairFolds
from sayso.store.rows import Rows, starts
from sayso.store.store import Store, folds_file
from sayso.store.table import BagTable


def folds_of(store: Store, part: str) -> PairFolds:
    """Return the folds of a part's pairs."""
    name = f"{folds_file(part)}.arrow"
    columns = read_columns(store.files, name, "fold", "stays")
    fold_B, stays_B = (np.asarray(to_numpy(columns[each])) for each in ("fold", "stays"))
    if is_verifying() and not is_within(fold_B, 1, store.num_folds + 1):
        raise BadInputError(f"{store.folder / name}: a fold is out of range: prepare the store again")
    return PairFolds(fold_B=fold_B, stays_B=stays_B != 0)


class Withheld(NamedTuple):
    """The training bags without the facts of a fold, each bag's index before, and whether its facts are withheld."""

    table: BagTable
    bag_B: np.ndarray
    is_withheld_B: np.ndarray


def withhold(table: BagTable, folds: PairFolds, fold: int) -> Withheld:
    """Withhold the facts of a fold: their pairs become NA pairs, of which those that do not stay are left out."""
    is_withheld_B = (folds.fold_B == fold) & table.is_positive_B
    bag_B = np.flatnonzero(~is_withheld_B | folds.stays_B)
    kept, is_withheld_B = table.take_bags(bag_B), is_withheld_B[bag_B]
    length_B = np.where(is_withheld_B, 0, kept.relations.length)
    value = kept.relations.value[np.repeat(~is_withheld_B, kept.relations.length)]
    return Withheld(_with_labels(kept, Rows(value, starts(length_B))), bag_B, is_withheld_B)


def _with_labels(table: BagTable, relations: Rows) -> BagTable:
    columns = {field.name: getattr(table, field.name) for field in fields(BagTable)}
    return BagTable(**(columns | {"relations": relations}))


class HeldOutPairs(NamedTuple):
    """The pairs of a fold with their facts, and how many pairs of the whole corpus each stands for."""

    table: BagTable
    weight_B: np.ndarray


def concatenated(tables: Sequence[BagTable]) -> BagTable:
    """Return the bags of all tables, which share a vocabulary."""
    columns: dict[str, Any] = {"first_B1": starts(np.concatenate([table.size_B for table in tables]))}
    for field in fields(BagTable):
        parts = [getattr(table, field.name) for table in tables]
        if field.name not in columns:
            columns[field.name] = Rows.concatenate(parts) if isinstance(parts[0], Rows) else np.concatenate(parts)
    return BagTable(**columns)


def held_out_pairs(store: Store, fold: int) -> HeldOutPairs:
    """Return the pairs of a fold, labelled and unlabelled, those of `rest` included."""
    parts = [part for part in ("train", "rest") if part in store.parts]
    bags = {part: np.flatnonzero(folds_of(store, part).fold_B == fold) for part in parts}
    tables = {part: store.part(part).take_bags(bags[part]) for part in parts}
    # Without the other pairs, those that are there stand for them.
    share = {"train": 1.0 if "rest" in parts else store.na_share("train")}
    share["rest"] = float(store.manifest["folds"].get("rest_share", 1.0))
    weights = [np.where(tables[part].is_positive_B, 1.0, 1.0 / share[part]) for part in parts]
    return HeldOutPairs(concatenated([tables[part] for part in parts]), np.concatenate(weights))
