"""Count a corpus in one pass, in memory that does not grow with the number of sentences.

Shapes: N rows of hashes, K partitions of the on-disk shuffle.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sayso.memory import DiskShuffle, slices_by_cost
from sayso.readers.files import size_of
from sayso.readers.read import Tally, read_sentences
from sayso.readers.tables import read_entity_types, read_inventory, refuse_no_type
from sayso.records import OnProgress, Sentence, no_progress, sentence_key

_NUM_PARTITIONS = 256


class HashedRows:
    """Rows of `width` 64-bit hashes; every `most_held` rows are moved to disk, grouped by first hash."""

    def __init__(self, width: int, most_held: int = 50_000) -> None:
        self.width, self.most_held = width, most_held
        self._in_memory, self._on_disk = array("q"), DiskShuffle(_NUM_PARTITIONS)

    def add(self, row: tuple[int, ...]) -> None:
        """Add a row."""
        self._in_memory.extend(row)
        if len(self._in_memory) >= self.most_held * self.width:
            self.spill()

    def spill(self) -> DiskShuffle:
        """Move all rows to disk and return the shuffle that contains them."""
        row_N = np.array(self._in_memory, np.int64).reshape(-1, self.width)
        self._on_disk.put("row", row_N[:, 0] & (_NUM_PARTITIONS - 1), row_N)
        self._in_memory = array("q")
        return self._on_disk


def grouped(streams: Sequence[HashedRows]) -> Iterator[np.ndarray]:
    """Yield batches of the rows of all streams; rows with the same first hash are in the same batch."""
    spilled = [stream.spill() for stream in streams]
    size_K = np.sum([shuffle.size_K("row") for shuffle in spilled], axis=0)
    for some in slices_by_cost(size_K, streams[0].most_held):
        yield np.concatenate([shuffle.take("row", some) for shuffle in spilled])


def num_distinct(streams: Sequence[HashedRows], column: int) -> int:
    """Return the number of distinct hashes in a column; equal hashes must be in rows with the same first hash."""
    return sum(len(np.unique(rows[:, column])) for rows in grouped(streams))


class Surveyor:
    """Collects the counts of a corpus, sentence by sentence."""

    def __init__(self) -> None:
        self.lines, self.keys, self.facts = HashedRows(2), HashedRows(1), HashedRows(2)
        self.lengths: Counter[int] = Counter()
        self.relations: set[str] = set()
        self.entities: set[str] = set()
        self.num_na = self.num_repeated = 0

    def add(self, sentence: Sentence) -> None:
        """Count one sentence."""
        tokens, head, tail, relations = sentence[:4]
        pair = hash((head.entity_id, tail.entity_id))
        self.lines.add((pair, hash((pair, tokens))))
        self.keys.add((hash(sentence_key(" ".join(tokens))),))
        self.lengths[len(tokens)] += 1
        self.entities.add(head.entity_id)
        self.entities.add(tail.entity_id)
        self.num_repeated += len(head.spans) > 1 or len(tail.spans) > 1
        self.num_na += not relations
        for relation in relations:
            self.relations.add(relation)
            self.facts.add((pair, hash((pair, relation))))


def summarise(surveyors: Sequence[Surveyor], typed: Iterable[str] | None = None) -> dict[str, float | None]:
    """Return the counts of one or more files taken as one corpus.

    `duplicate_sentences` repeat another sentence of the same pair, for any relation; a bag keeps each sentence once.
    `distinct_sentences` counts a sentence once, no matter how many pairs it mentions or which names are joined in it.
    Lengths are tokens per sentence; bag sizes are distinct sentences per pair. `typed`: ids of the entities that have a
    type; None if no types are given.
    """
    entities = set().union(*(surveyor.entities for surveyor in surveyors))
    lengths: Counter[int] = sum((surveyor.lengths for surveyor in surveyors), Counter())
    sizes = _bag_sizes([surveyor.lines for surveyor in surveyors])
    num_bags, num_in_bags = sizes.total(), sum(size * num for size, num in sizes.items())
    facts = [surveyor.facts for surveyor in surveyors]
    return {
        "sentences": lengths.total(),
        "distinct_sentences": num_distinct([surveyor.keys for surveyor in surveyors], 0),
        "duplicate_sentences": lengths.total() - num_in_bags,
        "na_sentences": sum(surveyor.num_na for surveyor in surveyors),
        "pairs": num_bags,
        "positive_pairs": num_distinct(facts, 0),
        "facts": num_distinct(facts, 1),
        "relations": len(set().union(*(surveyor.relations for surveyor in surveyors))),
        "entities": len(entities),
        "untyped_entities": None if typed is None else len(entities.difference(typed)),
        "mentions_repeated": sum(surveyor.num_repeated for surveyor in surveyors),
        "length_median": _median(lengths),
        "length_max": max(lengths, default=0),
        "bag_size_mean": num_in_bags / num_bags if num_bags else 0.0,
        "bag_size_max": max(sizes, default=0),
        "bags_of_one": sizes[1],
    }


class Survey(NamedTuple):
    """The counts of each file and of all together, and the bad lines of each."""

    files: list[tuple[Path, dict[str, Any]]]
    whole: dict[str, Any]
    tallies: list[Tally]

    @property
    def record(self) -> dict[str, Any]:
        """The counts as plain values."""
        return {**self.whole, "files": [{"file": str(path), **report} for path, report in self.files]}


def survey_files(
    files: Sequence[Path],
    form: str = "auto",
    relations: Path | None = None,
    types: Path | None = None,
    on_progress: OnProgress = no_progress,
) -> Survey:
    """Count the sentences in the files; `relations` and `types` are tables to compare them with."""
    known = {relation.name for relation in read_inventory(relations)} if relations else None
    kinds = read_entity_types(types, known or ()) if types else {}
    read = [_read(path, form, known, on_progress) for path in files]
    if types:
        refuse_no_type(types, kinds, set().union(*(surveyor.entities for surveyor, _ in read)))
    typed = {entity for entity, names in kinds.items() if names} if types else None
    reports = [_report(summarise([surveyor], typed), [tally]) for surveyor, tally in read]
    whole = _report(summarise([surveyor for surveyor, _ in read], typed), [tally for _, tally in read])
    return Survey(list(zip(files, reports, strict=True)), whole, [tally for _, tally in read])


def _read(path: Path, form: str, known: set[str] | None, on_progress: OnProgress) -> tuple[Surveyor, Tally]:
    surveyor, tally, size = Surveyor(), Tally(path, form), size_of(path)
    for sentence in read_sentences(path, tally, known, lambda done: on_progress(f"reading {path}", done, size)):
        surveyor.add(sentence)
    return surveyor, tally


def _report(survey: dict[str, Any], tallies: list[Tally]) -> dict[str, Any]:
    return survey | {
        "mentions_not_found": sum(tally.num_bad_with("is not in the sentence") for tally in tallies),
        "bad_lines": sum(tally.num_bad for tally in tallies),
        "format": ", ".join(sorted({tally.form for tally in tallies})),
    }


def _bag_sizes(lines: Sequence[HashedRows]) -> Counter[int]:
    """Count pairs by their number of distinct sentences, from rows of hashes (pair, sentence of the pair)."""
    sizes: Counter[int] = Counter()
    for row_N2 in grouped(lines):
        _, first = np.unique(row_N2[:, 1], return_index=True)
        size_B = np.unique(row_N2[first, 0], return_counts=True)[1]
        sizes.update(dict(enumerate(np.bincount(size_B).tolist())))
    return +sizes


def _median(counts: Counter[int]) -> int:
    """Return the lower median of the counted values."""
    values = sorted(counts)
    num_up_to = accumulate(counts[value] for value in values)
    return next((value for value, num in zip(values, num_up_to, strict=True) if 2 * num >= counts.total()), 0)
