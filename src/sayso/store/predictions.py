"""A run's predictions on a part of a store, with explanations, in files that can be read without torch.

A folder contains `facts.arrow` (a row per fact), `evidence.arrow` (a row per fact and sentence), `words.arrow` (a row
per fact, sentence and word) and `manifest.json`. docs/predictions-store.md describes the columns.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from sayso.errors import BadInputError, UserError
from sayso.io.atomic import atomic_folder, restore
from sayso.io.checksum import FILES, sums_of
from sayso.io.json_file import checked_files, checked_record, read_object, to_json
from sayso.records import support_kind
from sayso.store.columns import Column, read_columns, write_columns
from sayso.store.store import Store

FORMAT = 1
MANIFEST, FACTS, EVIDENCE, WORDS = "manifest.json", "facts.arrow", "evidence.arrow", "words.arrow"
IN_RUN = "predictions"
"""The name of the folder inside a run."""
_ADVICE = "regenerate them with `sayso evaluate`"


@dataclass(frozen=True, kw_only=True)
class _Manifest:
    """The keys that readers rely on."""

    mechanisms: list[str]
    data_fingerprint: str
    model_fingerprint: str = ""
    run: str = ""
    variant: str = ""
    part: str = ""
    ranked_by: str = ""
    threshold: float = 0.5
    num_top: int = 1
    num_facts: int = 0
    num_evidence: int = 0


@dataclass(frozen=True, kw_only=True)
class PredictionColumns:
    """The columns of the folder's three files, and its manifest."""

    facts: Mapping[str, Column]
    evidence: Mapping[str, Column]
    words: Mapping[str, Column]
    manifest: dict[str, Any]


def write_predictions(folder: Path, columns: PredictionColumns) -> None:
    """Write the folder atomically, replacing the predictions of an earlier evaluation.

    Raises:
        UserError: the folder contains something else.
    """
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MANIFEST).is_file():
        raise UserError(f"{folder}: the folder contains something other than predictions; move it elsewhere")
    with atomic_folder(folder, overwrite=True) as work:
        write_columns(work / FACTS, columns.facts)
        write_columns(work / EVIDENCE, columns.evidence)
        write_columns(work / WORDS, columns.words)
        manifest = {"format": FORMAT, **columns.manifest, FILES: sums_of(work, (FACTS, EVIDENCE, WORDS))}
        (work / MANIFEST).write_text(to_json(manifest, indent=2) + "\n", encoding="utf-8")


class Predictions:
    """An opened folder of predictions; columns are memory-mapped when they are first used."""

    def __init__(self, folder: Path, in_memory: bool = False) -> None:
        self.folder = folder
        restore(folder)
        path = folder / MANIFEST
        if not path.is_file():
            raise BadInputError(f"{folder}: no predictions found: run `sayso evaluate` first")
        self.manifest: dict[str, Any] = read_object(path, "predictions manifest", _ADVICE)
        if self.manifest.get("format") != FORMAT:
            raise BadInputError(
                f"{folder}: predictions in format {self.manifest.get('format')}, expected {FORMAT}: {_ADVICE}"
            )
        checked_record(path, _Manifest, self.manifest, "predictions manifest", _ADVICE, is_open=True)
        self.files = checked_files(path, self.manifest, _ADVICE, in_memory)

    @property
    def mechanisms(self) -> list[str]:
        """The mechanisms with a score for every sentence."""
        return list(self.manifest["mechanisms"])

    @cached_property
    def facts(self) -> dict[str, pa.Array]:
        """A row per fact."""
        columns = read_columns(self.files, FACTS)
        return _with_support(columns) if "verdict" in columns else columns

    @cached_property
    def evidence(self) -> dict[str, pa.Array]:
        """A row per fact and sentence, grouped by fact."""
        return read_columns(self.files, EVIDENCE)

    @cached_property
    def words(self) -> dict[str, pa.Array]:
        """A row per fact, sentence and word, for the sentences with the highest scores."""
        return read_columns(self.files, WORDS)

    def refuse_other_store(self, store: Store) -> None:
        """Raise `BadInputError` if the predictions were made from a different store."""
        if self.manifest["data_fingerprint"] != store.fingerprint:
            raise BadInputError(
                f"{self.folder}: made from the store with fingerprint {self.manifest['data_fingerprint']}, but"
                f" {store.folder} has {store.fingerprint}: choose the store used with `sayso evaluate`"
            )


def _with_support(columns: dict[str, pa.Array]) -> dict[str, pa.Array]:
    """Rename columns written by sayso 0.1 to their current names; such files are read until 0.3."""
    kinds = map(support_kind, columns["verdict"].to_pylist(), columns["smallest_size"].to_pylist())
    support = pa.array(kinds, columns["verdict"].type)
    return {**{name: column for name, column in columns.items() if name != "verdict"}, "support": support}
