"""A prepared corpus on disk: a folder of memory-mapped columns and a human-readable manifest."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sayso.errors import BadInputError
from sayso.input_file import note_old_format
from sayso.io.atomic import refuse_foreign, restore
from sayso.io.checksum import FILES, is_verifying, sums_of
from sayso.io.folder import refuse_other_kind
from sayso.io.json_file import checked_files, checked_record, has_checksum, read_object, sealed, to_json
from sayso.records import Bag, Mention, Relation, Sentence, Source, Span
from sayso.store.columns import (
    Column,
    Limits,
    as_arrow,
    is_finite,
    is_within,
    read_bags,
    read_columns,
    to_numpy,
    write_bags,
    write_columns,
)
from sayso.store.rows import Rows
from sayso.store.table import BagTable

FORMAT = 1
MANIFEST = "manifest.json"
DIRECT_LABELS = "direct.labels"
_ADVICE = "regenerate the store with `sayso prepare`"


@dataclass(frozen=True, kw_only=True)
class StoreManifest:
    """The keys that readers of a store rely on."""

    format: int
    fingerprint: str
    parts: dict[str, dict[str, int]]
    settings: dict[str, Any] = field(default_factory=dict)
    inputs: dict[str, Any] = field(default_factory=dict)
    read: dict[str, dict[str, Any]] = field(default_factory=dict)
    words: dict[str, Any] = field(default_factory=dict)
    relations: dict[str, int] = field(default_factory=dict)
    entities: dict[str, int] = field(default_factory=dict)
    marks: dict[str, Any] = field(default_factory=dict)
    entity_vectors: dict[str, Any] = field(default_factory=dict)
    leakage: dict[str, Any] = field(default_factory=dict)
    direct_labels: dict[str, int] = field(default_factory=dict)
    na_share: dict[str, float] = field(default_factory=dict)
    folds: dict[str, Any] = field(default_factory=dict)


def marks_file(part: str) -> str:
    """Return the name of the table of marks on a part's sentences."""
    return "marks" if part == "test" else f"{part}.marks"


def folds_file(part: str) -> str:
    """Return the name of the table of the folds of a part's pairs."""
    return f"{part}.folds"


def refuse_no_store(folder: Path) -> None:
    """Raise `UserError` if a folder contains anything that is not part of a store, so it must not be overwritten."""
    refuse_foreign(folder, lambda name: name == MANIFEST or name.endswith(".arrow"), "a store")
    # A manifest with a checksum is ours, even if damaged, and may be replaced.
    if folder.is_dir() and any(folder.iterdir()) and not has_checksum(folder / MANIFEST):
        _read_manifest(folder)


def _read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a store in any format."""
    restore(folder)
    refuse_other_kind(folder, "store")
    if not (folder / MANIFEST).is_file():
        raise BadInputError(f"{folder}: not a store (no {MANIFEST}): make one with `sayso prepare`")
    found = read_object(folder / MANIFEST, "store manifest", _ADVICE)
    if "format" not in found:
        raise BadInputError(f"{folder}: not a store: make one with `sayso prepare`")
    return found


def write_store(
    folder: Path, files: Mapping[str, Mapping[str, Column]], parts: Mapping[str, BagTable], manifest: Mapping[str, Any]
) -> dict[str, Any]:
    """Write columns, parts and manifest to a folder, and return the manifest as written."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, columns in files.items():
        write_columns(folder / f"{name}.arrow", columns)
    for part, table in parts.items():
        write_bags(folder, part, table)
    written = sealed({**manifest, FILES: sums_of(folder, (path.name for path in folder.glob("*.arrow")))})
    (folder / MANIFEST).write_text(to_json(written, indent=2) + "\n", encoding="utf-8")
    return written


class Store:
    """Training and test data on disk, made by `sayso prepare`; columns are read when first used.

    Args:
        folder: The store's folder.
        in_memory: Read files into memory instead of mapping them.

    Raises:
        BadInputError: The folder does not contain a store, or the store is damaged.

    Example:
        ```python
        store = sayso.Store("demo/store")
        print(store.parts, len(store.relations))
        model.explain(next(store.bags("test"))).show()
        ```
    """

    def __init__(self, folder: str | Path, in_memory: bool = False) -> None:
        self.folder = folder = Path(folder)
        self.manifest = _read_manifest(folder)
        self._is_old = "judgements" in self.manifest
        if self._is_old:
            note_old_format(folder, "'judgements' are now called 'marks'")
            self.manifest["marks"] = self.manifest.pop("judgements")
        if self.manifest["format"] != FORMAT:
            raise BadInputError(
                f"{folder}: store in format {self.manifest['format']}, expected {FORMAT}:"
                " regenerate it with `sayso prepare`"
            )
        checked_record(folder / MANIFEST, StoreManifest, self.manifest, "store manifest", _ADVICE, is_open=True)
        self.files = checked_files(folder / MANIFEST, self.manifest, _ADVICE, in_memory)

    @property
    def fingerprint(self) -> str:
        """A hash of the store's inputs and settings."""
        return str(self.manifest["fingerprint"])

    @property
    def parts(self) -> list[str]:
        """The names of the parts in the store: train, validation, test, direct or rest."""
        return list(self.manifest["parts"])

    def na_share(self, part: str) -> float:
        """Return the fraction of the corpus's NA pairs that are in a part; 1 if unknown."""
        return float(self.manifest.get("na_share", {}).get(part, 1.0))

    @property
    def num_folds(self) -> int:
        """The number of folds into which the pairs are divided; 0 if there is a validation part instead."""
        return int(self.manifest.get("folds", {}).get("num", 0))

    def num_facts_unread(self, part: str) -> int:
        """Return the number of facts in a part without a readable sentence; recall counts them as missed."""
        return int(self.manifest["read"].get(part, {}).get("num_facts_unread", 0))

    @property
    def default_part(self) -> str:
        """The part to evaluate or show unless another is named: test, else validation, else train."""
        return next((part for part in ("test", "validation") if part in self.parts), "train")

    def part(self, name: str) -> BagTable:
        """Return the bags of a part."""
        if name not in self.manifest["parts"]:
            raise BadInputError(f"{self.folder}: the store has no part {name!r}; choose one of {', '.join(self.parts)}")
        ids = (self.words, self.entities["id"], self.relations, self._documents, self.direct_labels)
        return read_bags(self.files, name, Limits(*map(len, ids)))

    def bags(self, part: str) -> Iterator[Bag]:
        """Yield the bags of a part, one by one.

        Args:
            part: `train`, `validation`, `test` or `direct`; `parts` lists those in the store.

        Raises:
            BadInputError: The store has no such part.

        Example: `next(store.bags("test")).sentences`
        """
        table = self.part(part)
        return (self.bag(table, index) for index in range(table.num_bags))

    @cached_property
    def _words(self) -> dict[str, pa.Array]:
        return read_columns(self.files, "words.arrow", "word", "count")

    @property
    def words(self) -> pa.Array:
        """The words by id."""
        return self._words["word"]

    @cached_property
    def word_count(self) -> np.ndarray:
        """How often each word occurs in training sentences."""
        return np.asarray(to_numpy(self._words["count"]))

    @cached_property
    def vector_VD(self) -> np.ndarray:
        """The vectors of the first V words."""
        vector_VD = np.asarray(to_numpy(read_columns(self.files, "vectors.arrow", "vector")["vector"]))
        self._refuse_not_finite("vectors.arrow", vector_VD)
        return vector_VD

    @cached_property
    def entities(self) -> dict[str, pa.Array]:
        """The columns `id`, `name`, `type` (an index into `types`) and `vector` of the entities."""
        columns = read_columns(self.files, "entities.arrow", "id", "name", "type", "vector")
        self._refuse_not_finite("entities.arrow", np.asarray(to_numpy(columns["vector"])))
        if is_verifying() and not is_within(np.asarray(to_numpy(columns["type"])), 0, len(self.types)):
            raise BadInputError(f"{self.folder / 'entities.arrow'}: a type is not in types.arrow: {_ADVICE}")
        return columns

    def _refuse_not_finite(self, name: str, values: np.ndarray) -> None:
        if is_verifying() and not is_finite(values):
            raise BadInputError(f"{self.folder / name}: a vector is not finite: {_ADVICE}")

    @cached_property
    def types(self) -> list[str]:
        """The names of the entity types; the first is `/other`."""
        return list(read_columns(self.files, "types.arrow", "name")["name"].to_pylist())

    @cached_property
    def relations(self) -> list[Relation]:
        """The relation inventory."""
        names = ("name", "definition", "example", "functional")
        columns = read_columns(self.files, "relations.arrow", *names)
        rows = zip(*(columns[name].to_pylist() for name in names), strict=True)
        return [Relation(name, definition, example, bool(functional)) for name, definition, example, functional in rows]

    @cached_property
    def direct_labels(self) -> list[str]:
        """The relation labels of directly supervised sentences, such as `per:title(e2,e1)`; none in older stores."""
        if not self.manifest.get("direct_labels"):
            return []
        return list(read_columns(self.files, f"{DIRECT_LABELS}.arrow", "name")["name"].to_pylist())

    @property
    def marks(self) -> dict[str, pa.Array]:
        """Rationale marks on test sentences: `sentence`, `relation` (ids), `label`, `annotator`."""
        return self.marks_of("test")

    def marks_of(self, part: str) -> dict[str, pa.Array]:
        """Return the columns of the marks on a part's sentences: `sentence`, `relation` (ids), `label`, `annotator`."""
        if self._is_old:
            return read_columns(self.files, "judgements.arrow")
        return read_columns(self.files, f"{marks_file(part)}.arrow")

    def num_marks(self, part: str) -> int:
        """Return the number of marks on the sentences of a part."""
        report = self.manifest.get("marks", {})
        # Older stores have marks on test sentences only.
        num_by_part = report.get("num_by_part") or {"test": report.get("num_matched", 0)}
        return int(num_by_part.get(part, 0))

    @cached_property
    def _documents(self) -> pa.Array:
        return read_columns(self.files, "documents.arrow", "id")["id"]

    def pair(self, table: BagTable, bag: int) -> tuple[str, str]:
        """Return the ids of the head and the tail of a bag."""
        ids = self.entities["id"]
        return ids[int(table.head_B[bag])].as_py(), ids[int(table.tail_B[bag])].as_py()

    def tokens(self, table: BagTable, sentence: int) -> tuple[str, ...]:
        """Return the words of a sentence."""
        return tuple(self.words.take(as_arrow(table.tokens.row(sentence))).to_pylist())

    def bag(self, table: BagTable, index: int) -> Bag:
        """Return one bag as a record, with words instead of ids."""
        labels = tuple(self.relations[number].name for number in table.relations.row(index))
        first, last = table.first_B1[index : index + 2]
        sentences = [self._sentence(table, index, number, labels) for number in range(int(first), int(last))]
        return Bag(*self.pair(table, index), tuple(sentences), frozenset(labels))

    def _sentence(self, table: BagTable, bag: int, index: int, relations: tuple[str, ...]) -> Sentence:
        def mention(entity: int, spans: Rows) -> Mention:
            pieces = tuple(Span(*edges) for edges in spans.row(index).reshape(-1, 2).tolist())
            return Mention(self.entities["id"][entity].as_py(), self.entities["name"][entity].as_py(), pieces)

        expresses = float(table.expresses_N[index])
        return Sentence(
            tokens=self.tokens(table, index),
            head=mention(int(table.head_B[bag]), table.head_spans),
            tail=mention(int(table.tail_B[bag]), table.tail_spans),
            relations=relations,
            source=self._source(table, index),
            expresses=None if expresses != expresses else expresses,
        )

    def _source(self, table: BagTable, index: int) -> Source | None:
        document = int(table.document_N[index])
        if document < 0:
            return None
        spelling = (tuple(numbers.row(index).tolist()) for numbers in (table.glued, table.curly))
        return Source(self._documents[document].as_py(), *table.place_N2[index].tolist(), *spelling)
