"""A trained run, opened on one part of its store, for evaluation and explanation."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from sayso.errors import BadInputError, UserError, option
from sayso.features.batch import Part
from sayso.features.mentions import ModelInput
from sayso.model.checkpoint import ModelParts
from sayso.model.ensemble import PREFIX, load_parts, model_fingerprint
from sayso.records import sentence_key
from sayso.store.store import Store
from sayso.store.table import BagTable

_PARTS = ("test", "validation", "train", "rest")


@dataclass(frozen=True, kw_only=True)
class TrainedRun:
    """A run's folder and model, its store, and the part of the store to use."""

    folder: Path
    model: ModelParts
    store: Store
    part_name: str

    @property
    def name(self) -> str:
        """The name of the run's folder, for tables; for one seed of several, prefixed with the name of their folder."""
        folder = self.folder.resolve()
        return f"{folder.parent.name}-{folder.name}" if folder.name.startswith(PREFIX) else folder.name

    @cached_property
    def table(self) -> BagTable:
        """The part as stored."""
        return self.store.part(self.part_name)

    @cached_property
    def part(self) -> Part:
        """The part as the model reads it."""
        return self.as_part(self.table)

    def as_part(self, table: BagTable) -> Part:
        """Return bags from the store as the model reads them."""
        return Part(table=table, inputs=self.read_table(table), num_relations=len(self.model.relations))

    def read_table(self, table: BagTable) -> ModelInput:
        """Return the table's sentences as the model reads them."""
        lexicon = self.model.lexicon
        return lexicon.input_of(table, lexicon.type_E)

    @cached_property
    def label_BR(self) -> np.ndarray:
        """The relations of each bag's pair in the knowledge base."""
        return self.part.label_rows(np.arange(self.table.num_bags)).numpy() > 0

    @property
    def num_facts_unread(self) -> int:
        """The number of facts in the part without a readable sentence; recall counts them as missed."""
        return self.store.num_facts_unread(self.part_name)

    @cached_property
    def fingerprint(self) -> str:
        """The hash of the model's weights."""
        return model_fingerprint(self.folder)

    def find_bag(self, head: str, tail: str) -> int:
        """Return the index of the pair's bag in the part; raise `UserError` if there is none, or more than one."""
        table, where = self.table, f"{self.store.folder}: the {self.part_name} part"
        found = self._bags_of(head, tail)
        if not len(found):
            hint = f": try a different {option('part')}"
            if len(self._bags_of(tail, head)):
                hint = f", but it has the pair the other way round: swap {option('head')} and {option('tail')}"
            raise UserError(f"{where} has no bag with head {head!r} and tail {tail!r}{hint}")
        if len(found) > 1:
            pairs = [" ".join(self.store.pair(table, bag)) for bag in found[:5].tolist()]
            raise UserError(f"{where} has {len(found)} pairs with these names: use ids, such as {'; '.join(pairs)}")
        return int(found[0])

    def has_pair(self, head: str, tail: str) -> bool:
        """Return whether the part has the pair, in this direction."""
        return len(self._bags_of(head, tail)) > 0

    def _bags_of(self, head: str, tail: str) -> np.ndarray:
        heads, tails = self._entities_named(head), self._entities_named(tail)
        return np.flatnonzero(np.isin(self.table.head_B, heads) & np.isin(self.table.tail_B, tails))

    def _entities_named(self, wanted: str) -> list[int]:
        """Return the entity with this id, or else those with this name, ignoring case."""
        ids = self.store.entities["id"].to_pylist()
        if wanted in ids:
            return [ids.index(wanted)]
        key = sentence_key(wanted).lower()
        names = self.store.entities["name"].to_pylist()
        found = [number for number, name in enumerate(names) if sentence_key(name).lower() == key]
        if not found:
            raise UserError(f"{self.store.folder}: no entity has the id or name {wanted!r}")
        return found


def with_pair(run: TrainedRun, head: str, tail: str) -> TrainedRun:
    """Return the run on the first part of its store that has the pair, in this direction or else in the other.

    Raises:
        UserError: no part has the pair.
    """
    there = [replace(run, part_name=part) for part in _PARTS if part in run.store.parts]
    for pair in ((head, tail), (tail, head)):
        for each in there:
            if each.has_pair(*pair):
                return each
    raise UserError(f"{run.store.folder}: no part has a bag with head {head!r} and tail {tail!r}")


def open_runs(folders: Sequence[Path], store: Store, part: str, device: str = "cpu") -> list[TrainedRun]:
    """Open the runs on this part; raise `BadInputError` if one was trained on a different store."""
    runs = [open_model(load_parts(folder), folder, store, part) for folder in folders]
    for run in runs:
        run.model.extractor.to(device)
    names = [run.name for run in runs]
    if doubled := [name for name in names if names.count(name) > 1]:
        raise UserError(
            f"two runs are called {doubled[0]}: rename one of the folders, so that tables can tell them apart"
        )
    return runs


def open_model(model: ModelParts, folder: Path, store: Store, part: str) -> TrainedRun:
    """Open a loaded model on this part; raise `BadInputError` if it was trained on a different store."""
    made_on = model.training.get("data_fingerprint")
    if made_on != store.fingerprint:
        raise BadInputError(
            f"{folder}: the run was trained on a store with fingerprint {made_on}, but {store.folder} has"
            f" {store.fingerprint}: use the store it was trained on"
        )
    if part not in store.parts or part == "direct":
        there = ", ".join(name for name in store.parts if name != "direct")
        raise BadInputError(f"{store.folder}: the store has no part {part!r} to evaluate on: choose one of {there}")
    return TrainedRun(folder=folder, model=model, store=store, part_name=part)
