"""People's marks on sentences: matched to the sentences of a store, and settled by majority."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sayso.errors import BadInputError
from sayso.metrics.agreement import majority
from sayso.metrics.rationale import IRRELEVANT, NEITHER, RATIONALE
from sayso.readers.base import BadLine
from sayso.readers.mark import read_marks
from sayso.readers.read import MARKS, Tally
from sayso.records import Mark, sentence_key
from sayso.store.store import Store
from sayso.store.table import BagTable

_EXPECTED = (
    'expected lines {"head": …, "tail": …, "relation": …, "sentence": …, "label": "rationale"}, or ERASER\'s format;'
    " `sayso annotations export` writes both (--format jsonl or eraser)"
)

_CODES = {"rationale": RATIONALE, "irrelevant": IRRELEVANT, "unsure": NEITHER}
MARK_LABELS = {RATIONALE: "rationale", IRRELEVANT: "irrelevant"}

MarkColumns = dict[str, np.ndarray | list[str]]
"""The columns `sentence` (a row of the part), `relation` (an id), `label` and `annotator`."""


class MatchedMarks(NamedTuple):
    """Marks matched to a sentence, by part; and a report."""

    columns: dict[str, MarkColumns]
    report: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class MarkTargets:
    """What marks are matched to: bags, the ids of their entities and relations, and the `text` of a sentence."""

    table: BagTable
    entities: Mapping[str, int]
    relations: Mapping[str, int]
    text: Callable[[int], str]
    _rows_of: dict[int, dict[str, int]] = field(default_factory=dict, init=False)

    def find(self, mark: Mark) -> tuple[int, int] | str | None:
        """Return the ids of the mark's sentence and relation, or why they are missing; None if no bag has its pair."""
        head, tail = self.entities.get(mark.head_id), self.entities.get(mark.tail_id)
        bag = None if head is None or tail is None else self._bag_of_pair.get((head, tail))
        if bag is None:
            return None
        relation = self.relations.get(mark.relation)
        if relation is None:
            return f"relation '{mark.relation}' is not in the inventory"
        if bag not in self._rows_of:
            rows = range(*self.table.first_B1[bag : bag + 2].tolist())
            self._rows_of[bag] = {sentence_key(self.text(row)): row for row in rows}
        sentence = self._rows_of[bag].get(sentence_key(mark.sentence))
        return "the bag has no such sentence" if sentence is None else (sentence, relation)

    @cached_property
    def _bag_of_pair(self) -> dict[tuple[int, int], int]:
        return {pair: bag for bag, pair in enumerate(self.table.pairs)}


def match_marks(paths: Sequence[Path], targets: Mapping[str, MarkTargets], max_bad_share: float = 1.0) -> MatchedMarks:
    """Match the marks in files to sentences of the parts; unmatched marks are counted and listed.

    A mark belongs to the first part that has a bag for its pair.

    Raises:
        BadInputError: no line of a file is a mark, or more than `max_bad_share` of its lines are not.
    """
    rows: dict[str, list[tuple[int, int, str, str]]] = {part: [] for part in targets}
    unmatched = Tally(Path(), MARKS)
    for path in paths:
        tally = Tally(path, MARKS)
        for number, item in read_marks(path):
            if isinstance(item, BadLine):
                tally.count_bad(path, number, item.reason)
                unmatched.count_bad(path, number, item.reason)
                continue
            tally.num_good += 1
            found = _place_of(item, targets)
            if isinstance(found, str):
                unmatched.count_bad(path, number, found)
            else:
                part, sentence, relation = found
                rows[part].append((sentence, relation, item.label, item.annotator))
        if not tally.num_good:
            raise BadInputError(f"{tally.shown[0]}; no line of this file is a mark: {_EXPECTED}")
        tally.refuse_too_many_bad(max_bad_share)
    return MatchedMarks(
        columns={part: _columns(of_part) for part, of_part in rows.items()},
        report={
            "num_matched": sum(map(len, rows.values())),
            "num_by_part": {part: len(of_part) for part, of_part in rows.items()},
            "num_unmatched": unmatched.num_bad,
            "reasons": dict(unmatched.reasons),
            "first_unmatched": unmatched.shown,
        },
    )


def _place_of(mark: Mark, targets: Mapping[str, MarkTargets]) -> tuple[str, int, int] | str:
    """Return the part and the ids of the mark's sentence and relation, or why it does not match."""
    for part, target in targets.items():
        found = target.find(mark)
        if found is not None:
            return found if isinstance(found, str) else (part, *found)
    return f"no {' or '.join(targets)} bag for the pair '{mark.head_id}', '{mark.tail_id}'"


def _columns(rows: Sequence[tuple[int, int, str, str]]) -> MarkColumns:
    sentence, relation, label, annotator = zip(*rows, strict=True) if rows else ((), (), (), ())
    return {
        "sentence": np.array(sentence, np.int64),
        "relation": np.array(relation, np.int32),
        "label": list(label),
        "annotator": list(annotator),
    }


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
    targets = MarkTargets(
        table=table,
        entities={entity_id: number for number, entity_id in enumerate(store.entities["id"].to_pylist())},
        relations={relation.name: number for number, relation in enumerate(store.relations)},
        text=lambda row: " ".join(store.tokens(table, row)),
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
