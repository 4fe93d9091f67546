"""Rationale marks of people, matched to the sentences of a store."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sayso.errors import BadInputError
from sayso.readers.base import BadLine, kind_of_fault
from sayso.readers.mark import read_marks
from sayso.readers.read import MARKS, Tally
from sayso.records import Mark, sentence_key
from sayso.store.table import BagTable

_NUM_SHOWN = 20
_EXPECTED = (
    'a marks file has lines {"head": …, "tail": …, "relation": …, "sentence": …, "label": "rationale"}, or ERASER\'s:'
    " what `sayso annotations export` writes with --form jsonl or eraser"
)


@dataclass(frozen=True, kw_only=True)
class Matched:
    """The marks that fit a sentence: columns `sentence`, `relation` (numbers), `label`, `annotator`; and a report."""

    columns: dict[str, np.ndarray | list[str]]
    report: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What marks are matched against: bags, and what the numbers in them stand for."""

    table: BagTable
    entities: Mapping[str, int]
    relations: Mapping[str, int]
    text: Callable[[int], str]


def match_marks(paths: Sequence[Path], judged: Judged | None, max_bad_share: float = 1.0) -> Matched:
    """Return the marks of the files on sentences of the bags; what does not fit is counted and listed, not dropped.

    A file with no mark in it is a `BadInputError`, and so is one with more than this share of lines that are no marks.
    """
    matcher = _Matcher(judged)
    for path in paths:
        tally = Tally(path, MARKS)
        for number, item in read_marks(path):
            if isinstance(item, BadLine):
                tally.count_bad(path, number, item.reason)
                reason = item.reason
            else:
                tally.num_good += 1
                reason = matcher.add(item)
            if reason:
                matcher.refuse(f"{path}:{number}: {reason}", reason)
        if not tally.num_good:
            raise BadInputError(f"{tally.shown[0]}; no line of this file is a mark: {_EXPECTED}")
        tally.refuse_too_many_bad(max_bad_share)
    return matcher.finish()


class _Matcher:
    def __init__(self, judged: Judged | None) -> None:
        self.judged = judged
        self.rows: list[tuple[int, int, str, str]] = []
        self.unmatched: list[str] = []
        self.reasons: dict[str, int] = {}
        self._bag_of_pair = _bags_by_pair(judged.table) if judged else {}
        self._sentences: dict[int, dict[str, int]] = {}

    def add(self, mark: Mark) -> str:
        """Take one mark; return why it fits no sentence, or nothing."""
        judged = self.judged
        if judged is None:
            return "the store has no test part to match"
        bag = self._bag_of_pair.get((judged.entities.get(mark.head_id, -1), judged.entities.get(mark.tail_id, -1)))
        if bag is None:
            return f"no test bag of the pair '{mark.head_id}', '{mark.tail_id}'"
        relation = judged.relations.get(mark.relation)
        if relation is None:
            return f"relation '{mark.relation}' is not in the inventory"
        sentence = self._texts_of(bag, judged).get(sentence_key(mark.sentence))
        if sentence is None:
            return "the bag has no such sentence"
        self.rows.append((sentence, relation, mark.label, mark.annotator))
        return ""

    def refuse(self, shown: str, reason: str) -> None:
        """Count a mark that fits nothing."""
        kind = kind_of_fault(reason)
        self.reasons[kind] = self.reasons.get(kind, 0) + 1
        if len(self.unmatched) < _NUM_SHOWN:
            self.unmatched.append(shown)

    def _texts_of(self, bag: int, judged: Judged) -> dict[str, int]:
        if bag not in self._sentences:
            first, last = judged.table.first_B1[bag : bag + 2].tolist()
            self._sentences[bag] = {sentence_key(judged.text(row)): row for row in range(first, last)}
        return self._sentences[bag]

    def finish(self) -> Matched:
        """Return what was collected."""
        sentence, relation, label, annotator = (
            (list(column) for column in zip(*self.rows, strict=True)) if self.rows else ([], [], [], [])
        )
        return Matched(
            columns={
                "sentence": np.array(sentence, np.int64),
                "relation": np.array(relation, np.int32),
                "label": label,
                "annotator": annotator,
            },
            report={
                "num_matched": len(self.rows),
                "num_unmatched": sum(self.reasons.values()),
                "reasons": self.reasons,
                "first_unmatched": self.unmatched,
            },
        )


def _bags_by_pair(table: BagTable) -> dict[tuple[int, int], int]:
    pairs = zip(table.head_B.tolist(), table.tail_B.tolist(), strict=True)
    return {pair: bag for bag, pair in enumerate(pairs)}
