"""Annotators' marks on the sentences of a part, from the store or from files."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sayso.metrics.agreement import majority
from sayso.metrics.rationale import IRRELEVANT, NEITHER, RATIONALE
from sayso.store.marks import MarkTargets, match_marks
from sayso.store.store import Store
from sayso.store.table import BagTable

_CODES = {"rationale": RATIONALE, "irrelevant": IRRELEVANT, "unsure": NEITHER}
MARK_LABELS = {RATIONALE: "rationale", IRRELEVANT: "irrelevant"}


@dataclass(frozen=True, kw_only=True)
class SentenceMarks:
    """One mark per marked (sentence, relation), by majority; `NEITHER` for a tie, or if nobody was sure.

    Marks that match no sentence are counted in the report.
    """

    by_sentence: dict[tuple[int, int], int]
    report: dict[str, Any]

    @cached_property
    def keys(self) -> np.ndarray:
        """The marked (sentence, relation) pairs, one per row."""
        return np.array(list(self.by_sentence), np.int64).reshape(-1, 2)

    def look_up(self, sentence_E: np.ndarray, relation_E: np.ndarray) -> np.ndarray:
        """Return the mark on each (sentence, relation); `NEITHER` if there is none."""
        pairs = zip(sentence_E.tolist(), relation_E.tolist(), strict=True)
        return np.array([self.by_sentence.get(pair, NEITHER) for pair in pairs], np.int8)


def marks_of_store(store: Store, part: str, annotator: str | None = None) -> SentenceMarks:
    """Return the store's marks on a part's sentences, by all annotators or by one."""
    if not (num := store.num_marks(part)):
        nothing = {"num_matched": 0, "num_unmatched": 0, "reasons": {}, "first_unmatched": []}
        return SentenceMarks(by_sentence={}, report=nothing)
    given = store.marks_of(part)
    columns = [given[name].to_pylist() for name in ("sentence", "relation", "label", "annotator")]
    rows = [row[:3] for row in zip(*columns, strict=True) if annotator in (None, row[3])]
    return SentenceMarks(by_sentence=_settle(rows), report={**store.manifest["marks"], "num_matched": num})


def marks_of_files(paths: Sequence[Path], store: Store, table: BagTable, part: str = "test") -> SentenceMarks:
    """Return the marks in these files; those on unknown bags, relations or sentences are counted in the report."""
    ids = store.entities["id"].to_pylist()
    targets = MarkTargets(
        table=table,
        entities={entity_id: number for number, entity_id in enumerate(ids)},
        relations={relation.name: number for number, relation in enumerate(store.relations)},
        text=lambda row: " ".join(store.words.take(pa.array(table.tokens.row(row))).to_pylist()),
    )
    matched = match_marks(paths, {part: targets})
    columns = matched.columns[part]
    sentence, relation = np.asarray(columns["sentence"]).tolist(), np.asarray(columns["relation"]).tolist()
    rows = zip(sentence, relation, columns["label"], strict=True)
    return SentenceMarks(by_sentence=_settle(rows), report=matched.report)


def _settle(rows: Iterable[tuple[int, int, str]]) -> dict[tuple[int, int], int]:
    """Return the majority mark for each (sentence, relation)."""
    labels: dict[tuple[int, int], list[str]] = {}
    for sentence, relation, label in rows:
        labels.setdefault((sentence, relation), []).append(label)
    return {key: _CODES[majority(given)] for key, given in labels.items()}
