"""The runs of a reproduction, the variants that a store lacks data for, and a survey of the store.

Shapes: N sentences, L labels of all bags, M marks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from sayso.config import Range, check_ranges
from sayso.errors import BadInputError
from sayso.reproduce.paper import VARIANTS, variant_config
from sayso.store.leakage import CLEAN_FBNYT_SENTENCES, LEAKING_FBNYT_SENTENCES
from sayso.store.marks import SentenceMarks, marks_of_store
from sayso.store.store import Store
from sayso.train.config import RunConfig

QUICK = ("train.max_epochs=10",)
"""Overrides of `--quick`: all variants then train within half an hour on two cores."""

LAMBDAS = (0.01, 0.1, 1.0, 10.0, 100.0)
"""Weights of the distractor loss that the paper tried; it chose 1."""
LAMBDA = "lambda-"
GRID_VARIANTS = ("CNNs+ATT+LD", "DirectSup+F+LD")

_RELEASES = {
    CLEAN_FBNYT_SENTENCES: "the FB-NYT release that the paper uses (its Table 1 lists 90 % of the sentences)",
    LEAKING_FBNYT_SENTENCES: "the FB-NYT release whose training file contains test pairs",
}
"""Known releases, by the number of sentences in the training file."""
_MOST_SETS = 4
_EVERYBODY, _NOBODY = "all annotators", "annotator not named"


@dataclass(frozen=True, kw_only=True)
class PlanSettings:
    """Which runs to execute: `changes` are overrides (`a.b=c`) for every run; the grid tries values of λ."""

    variants: Sequence[str] = VARIANTS
    num_seeds: Annotated[int, Range(1, 1_000)] = 3
    changes: Sequence[str] = ()
    is_quick: bool = False
    has_grid: bool = True

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def all_changes(self) -> tuple[str, ...]:
        """All overrides; those of `--quick` come first, so the user's take precedence."""
        return (*(QUICK if self.is_quick else ()), *self.changes)


@dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """One run; one with a label is part of the grid: it is evaluated only on validation, and is in no table."""

    variant: str
    config: RunConfig
    label: str = ""

    @property
    def key(self) -> str:
        """The stem of its file names."""
        stem = self.variant.lower().replace("+", "_")
        return "-".join(part for part in (stem, self.label, f"seed-{self.config.seed}") if part)


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """The runs in starting order, and the variants left out, each with the reason."""

    runs: list[PlannedRun]
    left_out: dict[str, str]


def make_plan(store: Store, settings: PlanSettings) -> RunPlan:
    """Plan the runs for a store.

    Raises:
        BadInputError: a part of the store has no facts, or none of the variants can be trained.
    """
    for part in ("train", "validation", "test"):
        if not store.manifest["parts"].get(part, {}).get("positive_bags"):
            raise BadInputError(f"{store.folder}: the {part} part has no bag with a relation; choose another store")
    configs = {name: variant_config(name, settings.all_changes) for name in settings.variants}
    lacks = {name: lack_of(store, config) for name, config in configs.items()}
    left = {name: config for name, config in configs.items() if not lacks[name]}
    if not left:
        raise BadInputError(f"{store.folder}: none of the variants can be trained: {next(iter(lacks.values()))}")
    # Ordered by seed, so an interrupted reproduction has complete rows with fewer seeds.
    runs = [
        PlannedRun(variant=name, config=replace(config, seed=config.seed + number))
        for number in range(settings.num_seeds)
        for name, config in left.items()
    ]
    return RunPlan(
        runs=runs + (_grid(left) if settings.has_grid else []),
        left_out={name: reason for name, reason in lacks.items() if reason},
    )


def _grid(configs: dict[str, RunConfig]) -> list[PlannedRun]:
    """Return the runs of the grid, with the first seed; the weight used in the tables is not run twice."""
    return [
        PlannedRun(
            variant=name,
            config=replace(configs[name], loss=replace(configs[name].loss, distractor=weight)),
            label=f"{LAMBDA}{weight:g}",
        )
        for name in GRID_VARIANTS
        if name in configs
        for weight in LAMBDAS
        if weight != configs[name].loss.distractor
    ]


def lack_of(store: Store, config: RunConfig) -> str:
    """Return what the store lacks for these settings and how to add it, empty if nothing is missing."""
    lacks, vectors = [], store.manifest.get("entity_vectors", {})
    if config.needs_types and len(store.types) < 2:
        lacks.append("no entity types (prepare it with --types)")
    if config.model.use_entities and not (vectors.get("name_width") or vectors.get("graph_width")):
        lacks.append("no entity vectors (prepare it with --entity-vectors or --vectors)")
    if config.needs_direct and not store.manifest["parts"].get("direct", {}).get("sentences"):
        lacks.append("no directly supervised sentences (prepare it with --direct)")
    return f"the store has {' and '.join(lacks)}" if lacks else ""


def mark_sets(store: Store) -> dict[str, SentenceMarks]:
    """Return the marks on the test part by annotator, or their majority if there are many annotators."""
    names = list(dict.fromkeys(store.marks["annotator"].to_pylist())) if store.num_marks("test") else []
    if len(names) > _MOST_SETS:
        return {_EVERYBODY: _on_labels(store, marks_of_store(store, "test"))}
    return {name or _NOBODY: _on_labels(store, marks_of_store(store, "test", name)) for name in names}


def _on_labels(store: Store, marks: SentenceMarks) -> SentenceMarks:
    """Keep only marks on facts, that is, on relations that the knowledge base has for the pair."""
    table, num_relations = store.part("test"), len(store.relations)
    row_M, relation_M = marks.keys.T
    fact_L = table.bag_L * num_relations + table.relations.value
    is_fact_M = np.isin(table.bag_N[row_M] * num_relations + relation_M, fact_L)
    kept = zip(marks.by_sentence.items(), is_fact_M.tolist(), strict=True)
    return replace(marks, by_sentence={key: mark for (key, mark), is_fact in kept if is_fact})


def num_leaking_pairs(store: Store) -> int:
    """Return how many test pairs are in the training part because leakage was allowed."""
    pairs = int(store.manifest.get("leakage", {}).get("test_pairs_in_train", 0))
    return pairs if store.manifest["settings"]["leak"] == "allow" else 0


def survey_store(store: Store) -> list[str]:
    """Describe a store before training starts, one line per item."""
    marked = [
        f"marks by {name}: {len(marks.by_sentence):,} on facts of the test part"
        for name, marks in mark_sets(store).items()
    ]
    unmarked = "marks: none, so no τ (prepare with --marks)"
    return [*_about_files(store), *_about_vectors(store), *(marked or [unmarked])]


def _about_files(store: Store) -> Iterator[str]:
    inputs = store.manifest["inputs"]
    train, test = (int(inputs.get(name, {}).get("sentences", 0)) for name in ("train", "test"))
    known = _RELEASES.get(train, "not the paper's release, judging by the counts")
    yield f"files: {train:,} training and {test:,} test sentences: {known}"
    pairs = store.manifest.get("leakage", {}).get("test_pairs_in_train", 0)
    if num_leaking_pairs(store):
        yield f"leakage: {pairs:,} test pairs are in training: metrics will be TOO HIGH; prepare with --leak drop"
    elif pairs:
        yield f"leakage: {pairs:,} test pairs in the training file were left out"


def _about_vectors(store: Store) -> Iterator[str]:
    entities = store.manifest.get("entity_vectors", {})
    width = store.manifest["words"]["vector_width"]
    yield f"word vectors: width {width}" if width else "word vectors: none (random ones are used instead)"
    halves = [f"{half} {entities.get(f'{half}_width', 0)}" for half in ("name", "graph")]
    yield f"entity vectors: width {' + '.join(halves)}"
    yield f"entity types: {len(store.types) - 1:,}"
    direct = store.manifest["parts"].get("direct", {}).get("sentences", 0)
    yield f"directly supervised sentences: {direct:,}"
