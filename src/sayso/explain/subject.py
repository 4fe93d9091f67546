"""A run's model on one part of the store that the run was made from: what every evaluation begins with."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from sayso.errors import BadInputError, UserError
from sayso.features.collate import Part
from sayso.features.lexicon import Lexicon
from sayso.features.mentions import Presented, present
from sayso.model.checkpoint import WEIGHTS, ModelParts, find_model, load_model
from sayso.store.store import Store
from sayso.store.table import BagTable


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A model, where it lies, and the part of its store that it is judged by."""

    folder: Path
    model: ModelParts
    store: Store
    part_name: str

    @property
    def name(self) -> str:
        """What tables call the run: its folder."""
        return self.folder.resolve().name

    @cached_property
    def part(self) -> Part:
        """The part, as the model reads it."""
        table = self.store.part(self.part_name)
        return Part(table=table, presented=self.read_table(table), num_relations=len(self.model.relations))

    def read_table(self, table: BagTable) -> Presented:
        """Return sentences in the store's numbers as the model reads them."""
        lexicon = self.model.lexicon
        return present(table, lexicon.mentions, len(lexicon.words), lexicon.type_E)

    @cached_property
    def label_BR(self) -> np.ndarray:
        """Which relations the knowledge base holds for each bag."""
        return self.part.label_rows(np.arange(self.part.table.num_bags)).numpy() > 0

    @property
    def num_facts_unread(self) -> int:
        """Facts of the part none of whose sentences can be read; they stay in the denominator of recall."""
        return int(self.store.manifest["read"].get(self.part_name, {}).get("num_facts_unread", 0))

    @cached_property
    def fingerprint(self) -> str:
        """What identifies the model: its weights."""
        return model_fingerprint(self.folder)


def model_fingerprint(folder: Path) -> str:
    """Return what identifies the model of a run's or a model's folder: its weights."""
    with (find_model(folder) / WEIGHTS).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def read_word(lexicon: Lexicon, token: int) -> str:
    """Return what a row of a model's token table stands for: a word, or an entity type."""
    return lexicon.words[token] if token < len(lexicon.words) else lexicon.types[token - len(lexicon.words)]


def open_subjects(folders: Sequence[Path], store: Store, part: str, device: str = "cpu") -> list[Subject]:
    """Return the runs on this part; runs made on other data than the store's are refused."""
    subjects = [_open(folder, store, part, device) for folder in folders]
    names = [subject.name for subject in subjects]
    if doubled := [name for name in names if names.count(name) > 1]:
        raise UserError(
            f"two runs are called {doubled[0]}: rename the folder of one, so that tables can tell them apart"
        )
    return subjects


def _open(folder: Path, store: Store, part: str, device: str) -> Subject:
    model = load_model(folder)
    made_on = model.training.get("data_fingerprint")
    if made_on != store.fingerprint:
        raise BadInputError(
            f"{folder}: the run was made on a store of fingerprint {made_on}, but {store.folder} has"
            f" {store.fingerprint}: evaluate it on its own store"
        )
    if part not in store.parts or part == "direct":
        there = ", ".join(name for name in store.parts if name != "direct")
        raise BadInputError(f"{store.folder}: the store has no part {part!r} to evaluate on: choose {there}")
    model.extractor.to(device)
    return Subject(folder=folder, model=model, store=store, part_name=part)
