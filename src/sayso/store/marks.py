"""Match people's rationale marks to the sentences of a store."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sayso.errors import BadInputError
from sayso.readers.base import BadLine, kind_of_fault
from sayso.readers.mark import read_marks
from sayso.readers.read import MARKS, Tally
from sayso.records import Mark, sentence_key
from sayso.store.table import BagTable

_NUM_SHOWN = 20
_EXPECTED = (
    'expected lines {"head": …, "tail": …, "relation": …, "sentence": …, "label": "rationale"}, or ERASER\'s format;'
    " `sayso annotations export` writes both (--format jsonl or eraser)"
)


class MatchedMarks(NamedTuple):
    """Marks matched to a sentence: columns `sentence`, `relation` (ids), `label`, `annotator`; and a report."""

    columns: dict[str, np.ndarray | list[str]]
    report: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class MarkTargets:
    """What marks are matched to: bags, the ids of their entities and relations, and the `text` of a sentence."""

    table: BagTable
    entities: Mapping[str, int]
    relations: Mapping[str, int]
    text: Callable[[int], str]

    @cached_property
    def bag_of_pair(self) -> dict[tuple[int, int], int]:
        """The bag of each pair of entity ids."""
        pairs = zip(self.table.head_B.tolist(), self.table.tail_B.tolist(), strict=True)
        return {pair: bag for bag, pair in enumerate(pairs)}

    def sentences_of(self, bag: int) -> dict[str, int]:
        """Return the sentences of a bag by their keys."""
        first, last = self.table.first_B1[bag : bag + 2].tolist()
        return {sentence_key(self.text(row)): row for row in range(first, last)}


def match_marks(paths: Sequence[Path], targets: MarkTargets | None, max_bad_share: float = 1.0) -> MatchedMarks:
    """Match the marks in files to sentences of the bags; unmatched marks are counted and listed.

    Raises:
        BadInputError: no line of a file is a mark, or more than `max_bad_share` of its lines are not.
    """
    rows: list[tuple[int, int, str, str]] = []
    unmatched, reasons = list[str](), Counter[str]()
    sentences_of = cache(targets.sentences_of) if targets else None
    for path in paths:
        tally = Tally(path, MARKS)
        for number, item in read_marks(path):
            if isinstance(item, BadLine):
                tally.count_bad(path, number, item.reason)
                found: tuple[int, int] | str = item.reason
            else:
                tally.num_good += 1
                found = _place_of(item, targets, sentences_of)
            if isinstance(found, str):
                reasons[kind_of_fault(found)] += 1
                unmatched += [f"{path}:{number}: {found}"] if len(unmatched) < _NUM_SHOWN else []
            elif isinstance(item, Mark):
                rows.append((*found, item.label, item.annotator))
        if not tally.num_good:
            raise BadInputError(f"{tally.shown[0]}; no line of this file is a mark: {_EXPECTED}")
        tally.refuse_too_many_bad(max_bad_share)
    sentence, relation, label, annotator = zip(*rows, strict=True) if rows else ((), (), (), ())
    return MatchedMarks(
        columns={
            "sentence": np.array(sentence, np.int64),
            "relation": np.array(relation, np.int32),
            "label": list(label),
            "annotator": list(annotator),
        },
        report={
            "num_matched": len(rows),
            "num_unmatched": reasons.total(),
            "reasons": dict(reasons),
            "first_unmatched": unmatched,
        },
    )


def _place_of(
    mark: Mark, targets: MarkTargets | None, sentences_of: Callable[[int], dict[str, int]] | None
) -> tuple[int, int] | str:
    """Return the ids of the mark's sentence and relation, or why it does not match."""
    if targets is None or sentences_of is None:
        return "the store has no test part to match"
    head, tail = targets.entities.get(mark.head_id), targets.entities.get(mark.tail_id)
    bag = None if head is None or tail is None else targets.bag_of_pair.get((head, tail))
    if bag is None:
        return f"no test bag for the pair '{mark.head_id}', '{mark.tail_id}'"
    relation = targets.relations.get(mark.relation)
    if relation is None:
        return f"relation '{mark.relation}' is not in the inventory"
    sentence = sentences_of(bag).get(sentence_key(mark.sentence))
    return "the bag has no such sentence" if sentence is None else (sentence, relation)
