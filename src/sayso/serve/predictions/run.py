"""A run's predictions: a table of facts and their explanations, reread when `sayso evaluate` replaces them.

Shapes: E sentences of one fact.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from sayso.errors import BadInputError, as_command
from sayso.facts.explanation import Evidence, Explanation
from sayso.features.mentions import Appearance, model_input
from sayso.io.atomic import restore
from sayso.io.checksum import ChangedError, signature_of
from sayso.io.folder import refuse_other_kind
from sayso.io.json_file import JsonError, checked_files, read_object, record_of
from sayso.records import Support
from sayso.serve.predictions.table import Curve, DifferenceTable, PredictionTable, make_curve
from sayso.store.columns import read_columns, to_numpy
from sayso.store.marks import MARK_LABELS
from sayso.store.predictions import EVIDENCE, FACTS, IN_RUN, MANIFEST, WORDS, Predictions
from sayso.store.store import Store
from sayso.store.table import BagTable

_FACT = ("head_id", "head_name", "head_type", "relation", "tail_id", "tail_name", "tail_type", "probability")


@dataclass(frozen=True, kw_only=True)
class _ModelSettings:
    mentions: Appearance


@dataclass(frozen=True, kw_only=True)
class DistractorRank:
    """A mechanism's rank for a planted distractor among `num` sentences; None without a distractor."""

    mechanism: str
    rank: float | None
    num: int


@dataclass(frozen=True, kw_only=True)
class TopSentence:
    """The probability with only a mechanism's top-ranked sentence, and without it."""

    mechanism: str
    kept: float
    removed: float


class RunPredictions:
    """A run's predictions and their store; tables are built when first needed."""

    def __init__(self, name: str, folder: Path, predictions: Predictions, store: Store, table: BagTable) -> None:
        self.name = name
        self.folder = folder
        self.predictions = predictions
        self.store = store
        self.table = table
        self._curves: dict[str, Curve] = {}

    @cached_property
    def index(self) -> PredictionTable:
        """The table of facts."""
        return PredictionTable(self.predictions)

    @property
    def ranked_by(self) -> str:
        """The mechanism that ranks the sentences and defines the smallest set."""
        return str(self.predictions.manifest["ranked_by"])

    @property
    def threshold(self) -> float:
        """The minimum probability for a fact to count as predicted."""
        return float(self.predictions.manifest["threshold"])

    def curve(self, relation: str = "") -> Curve:
        """Return the precision-recall curve of all relations or of one; cached."""
        if relation not in self._curves:
            # The number of unread facts is only known for all relations together.
            num_unread = 0 if relation else self.store.num_facts_unread(self.predictions.manifest["part"])
            curve = make_curve(self.index, self.threshold, relation, num_unread)
            if relation and relation not in self.index.relations:
                return curve
            self._curves[relation] = curve
        return self._curves[relation]

    def explanation(self, row: int, with_marks: bool = True) -> Explanation:
        """Return a fact with its sentences in rank order, with or without annotators' marks."""
        fact = self.fact(row)
        return Explanation(
            **{name: fact[name] for name in _FACT},
            threshold=self.threshold,
            is_label=bool(fact["is_label"]),
            evidence=self._evidence(row, fact, with_marks),
            support=Support(
                kind=fact["support"],
                num_smallest=fact["smallest_size"],
                probability_with=fact["probability_with_smallest"],
                probability_without=fact["probability_without_smallest"],
                probability_of_none=fact["probability_of_none"],
                # Not counted in version 0.1.
                num_enough=num_enough if (num_enough := fact.get("num_enough", -1)) >= 0 else None,
            ),
            ranked_by=self.ranked_by,
            variant=str(self.predictions.manifest["variant"]),
        )

    def planted(self, row: int) -> list[DistractorRank]:
        """Return the distractor's rank by each mechanism."""
        fact = self.fact(row)
        num = fact["num_sentences"] + 1
        ranks = {name: float(fact[f"distractor_rank.{name}"]) for name in self.predictions.mechanisms}
        return [
            DistractorRank(mechanism=name, rank=rank if rank == rank else None, num=num) for name, rank in ranks.items()
        ]

    def top_sentences(self, row: int) -> list[TopSentence]:
        """Return each mechanism's top-sentence check."""
        fact = self.fact(row)
        return [
            TopSentence(
                mechanism=name,
                kept=fact[f"probability_with_top.{name}"],
                removed=fact[f"probability_without_top.{name}"],
            )
            for name in self.predictions.mechanisms
        ]

    def fact(self, row: int) -> dict[str, Any]:
        """Return the columns of one fact."""
        return {name: column[row].as_py() for name, column in self.predictions.facts.items()}

    def has_marks(self, row: int) -> bool:
        """Return whether annotators have marked sentences of the fact."""
        fact = self.fact(row)
        marks = self.predictions.evidence["mark"].slice(fact["first_evidence"], fact["num_sentences"])
        return any(mark in MARK_LABELS for mark in marks.to_pylist())

    def _evidence(self, row: int, fact: dict[str, Any], with_marks: bool) -> tuple[Evidence, ...]:
        first, num = fact["first_evidence"], fact["num_sentences"]
        columns = {name: column.slice(first, num).to_pylist() for name, column in self.predictions.evidence.items()}
        bag = self.store.bag(self.table, fact["bag"])
        first_sentence = int(self.table.first_B1[fact["bag"]])
        seen, scored = self._seen(fact), self._word_scores(row)
        found = (
            Evidence(
                sentence=bag.sentences[number - first_sentence],
                scores={name: columns[f"score.{name}"][place] for name in self.predictions.mechanisms},
                rank=columns["rank"][place],
                is_in_smallest=bool(columns["is_in_smallest"][place]),
                seen=seen[number - first_sentence],
                word_scores=scored.get(number, ()),
                mark=MARK_LABELS.get(columns["mark"][place], "") if with_marks else "",
            )
            for place, number in enumerate(columns["sentence"])
        )
        return tuple(sorted(found, key=lambda each: each.rank))

    def _seen(self, fact: dict[str, Any]) -> list[tuple[str, ...]]:
        """Return the model's input for each sentence: known words, and types instead of or before mentions."""
        alone = self.table.take_bags(np.array([fact["bag"]]))
        # The only entities are the bag's two: their types 0 and 1 follow the model's words.
        alone = replace(alone, head_B=np.array([0]), tail_B=np.array([1]))
        appearance, words = self._model
        rows = model_input(alone, appearance, len(words), np.array([0, 1])).tokens
        shown = [*words, fact["head_type"], fact["tail_type"]]
        return [tuple(shown[token] for token in rows.row(place).tolist()) for place in range(len(rows))]

    def _word_scores(self, row: int) -> dict[int, tuple[float, ...]]:
        """Return the word scores of the sentences that have them."""
        columns = self.predictions.words
        first, stop = np.searchsorted(np.asarray(to_numpy(columns["fact"])), (row, row + 1)).tolist()
        found: dict[int, list[float]] = {}
        rows = (columns[name].slice(first, stop - first).to_pylist() for name in ("sentence", "score"))
        for sentence, score in zip(*rows, strict=True):
            found.setdefault(sentence, []).append(score)
        return {sentence: tuple(scores) for sentence, scores in found.items()}

    @cached_property
    def _model(self) -> tuple[Appearance, list[str]]:
        """How the model represents mentions, and its vocabulary."""
        folder = self.folder / "model" if (self.folder / "model").is_dir() else self.folder
        advice = "the run's model is missing or damaged, but pages need it to show its input; train the run again"
        found = read_object(folder / "config.json", "model config", advice)
        try:
            appearance = record_of(_ModelSettings, found, is_open=True).mentions
        except JsonError as error:
            raise BadInputError(f"{folder / 'config.json'}: {error}; {advice}") from None
        files = checked_files(folder / "config.json", found, advice, self.store.files.in_memory)
        return appearance, read_columns(files, "words.arrow", "word")["word"].to_pylist()


@lru_cache(maxsize=1)
def differences(left: RunPredictions, right: RunPredictions) -> DifferenceTable:
    """Return the facts that only one of the runs predicts."""
    return DifferenceTable((left.index, right.index), (left.threshold, right.threshold))


_DEFAULT_PART = "test"


class OpenRun:
    """A run and its predictions for the part of the store that is served.

    `problem` says why its predictions cannot be shown, or is None; pages of other runs still work.
    """

    def __init__(self, name: str, folder: Path, store: Store, part: str, table: BagTable) -> None:
        self.name = name
        self.folder = folder
        self.problem: ChangedError | None = None
        self._store = store
        self._part = part
        self._table = table
        self._lock = Lock()
        self._signature = self._now()
        self.current = self._open()

    def follow(self) -> None:
        """Reread the predictions if they were replaced; set `problem` if they cannot be shown."""
        with self._lock:
            try:
                if self._now() != self._signature:
                    signature, reread = self._now(), self._open()
                    for name in (FACTS, EVIDENCE, WORDS):
                        reread.predictions.files.path(name)  # report damage here, not on annotation pages
                    self._signature, self.current = signature, reread
                self.current.predictions.files.refuse_changed()
                self.problem = None
            except ChangedError as error:
                self.problem = error
            except (BadInputError, OSError) as error:
                self.problem = ChangedError(str(error))

    def _now(self) -> tuple[int, ...]:
        path = self.folder / IN_RUN / MANIFEST
        try:
            return signature_of(path.stat())
        except OSError:
            return ()

    def _open(self) -> RunPredictions:
        refuse_other_kind(self.folder, "run")
        restore(self.folder / IN_RUN)
        if not (self.folder / IN_RUN).exists():
            command = evaluate_command(self.folder, self._store.folder, self._part)
            raise BadInputError(f"{self.folder}: no predictions yet; create them with: {command}")
        predictions = Predictions(self.folder / IN_RUN, in_memory=True)
        predictions.refuse_other_store(self._store)
        part = predictions.manifest["part"]
        if part != self._part:
            raise BadInputError(
                f"{self.folder}: the predictions are for the {part} part, not {self._part}; use `--part {part}`"
            )
        return RunPredictions(self.name, self.folder, predictions, self._store, self._table)


def parts_predicted(runs: Sequence[Path]) -> list[str]:
    """Return the part of each run's stored predictions; empty for a run without any."""
    return [str(_stored_manifest(run).get("part", "")) for run in runs]


def _stored_manifest(run: Path) -> dict[str, Any]:
    restore(run / IN_RUN)
    return Predictions(run / IN_RUN).manifest if (run / IN_RUN).exists() else {}


def evaluate_command(run: Path | str, store: Path, part: str) -> str:
    """Return the command that creates a run's predictions for a part."""
    return as_command("sayso", "evaluate", run, "--data", store, *_part_option(part))


def serve_command(run: Path | str, store: Path, part: str) -> str:
    """Return the command that shows a run's predictions for a part."""
    return as_command("sayso", "serve", "--data", store, "--run", run, *_part_option(part))


def _part_option(part: str) -> tuple[str, ...]:
    return ("--part", part) if part != _DEFAULT_PART else ()
