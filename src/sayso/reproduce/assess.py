"""A trained run to its outcome: figures on the test part, resamples of them, and the order of every marked tuple.

Shapes: B bags, R relations, F marked facts, K resamples, L labels of all bags, M marks.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sayso.evaluate.direct import weights_by_source
from sayso.evaluate.figures import plain
from sayso.evaluate.marked import marked_facts
from sayso.evaluate.relations import relation_figures
from sayso.explain import mechanisms_named
from sayso.explain.marks import Marks, marks_of_store
from sayso.features.collate import Part
from sayso.metrics.interval import bootstrap
from sayso.metrics.kendall import tau_counts
from sayso.metrics.marked import MarkedFacts
from sayso.metrics.precision_recall import PrecisionRecallCurve, precision_recall_curve
from sayso.metrics.resampled_curve import MEASURES, SortedScores, sort_scores
from sayso.model.extractor import Extractor
from sayso.model.predict import predict_logits
from sayso.reproduce.outcome import RECALLS, FactOrders
from sayso.reproduce.paper import MECHANISMS
from sayso.store.store import Store
from sayso.train.config import RunConfig
from sayso.train.data import RunData

_MOST_SETS = 4
_EVERYBODY, _NOBODY = "all annotators", "annotator not named"


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What an outcome says of a model."""

    test: dict[str, Any]
    resampled: dict[str, list[float | None]]
    curve: list[float]
    orders: dict[str, FactOrders]
    weights: dict[str, float]


class Assessor:
    """Assesses models on one store; parts are read once for each way in which mentions appear."""

    def __init__(self, store: Store, num_resamples: int) -> None:
        self.store, self.num_resamples = store, num_resamples
        self.mark_sets = mark_sets(store)
        self._read: dict[tuple[str, bool], tuple[RunData, Part]] = {}

    def assess(self, extractor: Extractor, config: RunConfig) -> Figures:
        """Return the figures of a trained model."""
        data, test = self._data(config)
        label_BR = test.label_rows(np.arange(test.table.num_bags)).numpy()
        logit_BR = predict_logits(extractor, test)
        unread = int(self.store.manifest["read"].get("test", {}).get("num_facts_unread", 0))
        curve = precision_recall_curve(logit_BR, label_BR, int(label_BR.sum()) + unread)
        return Figures(
            test=plain(relation_figures(logit_BR, label_BR, unread)),
            resampled=_resampled(sort_scores(logit_BR, label_BR, unread), self.num_resamples),
            curve=_thinned(curve),
            orders={name: self._orders(extractor, test, marks) for name, marks in self.mark_sets.items()},
            weights={} if data.direct is None else weights_by_source(extractor, data.validation, data.direct),
        )

    def _data(self, config: RunConfig) -> tuple[RunData, Part]:
        """Return the store and its test part as such a run reads them; the seed has no say in that."""
        key = config.data.mentions, config.needs_direct
        if key not in self._read:
            data = RunData(self.store, config)
            self._read[key] = data, data.part("test")
        return self._read[key]

    def _orders(self, extractor: Extractor, part: Part, marks: Marks) -> FactOrders:
        return fact_orders(marked_facts(extractor, part, marks, mechanisms_named(list(MECHANISMS))))


def mark_sets(store: Store) -> dict[str, Marks]:
    """Return the marks on the test part by annotator; of many annotators, what most of them say."""
    names = list(dict.fromkeys(store.marks["annotator"].to_pylist())) if "marks" in store.manifest else []
    if len(names) > _MOST_SETS:
        return {_EVERYBODY: _on_labels(store, marks_of_store(store, "test"))}
    return {name or _NOBODY: _on_labels(store, marks_of_store(store, "test", name)) for name in names}


def _on_labels(store: Store, marks: Marks) -> Marks:
    """Return the marks for relations that the knowledge base holds for the pair: only these are facts."""
    table, num_relations = store.part("test"), len(store.relations)
    bag_L = np.repeat(np.arange(table.num_bags), table.relations.length)
    row_M, relation_M = marks.keys.T
    is_fact_M = np.isin(table.bag_N[row_M] * num_relations + relation_M, bag_L * num_relations + table.relations.value)
    kept = zip(marks.by_sentence.items(), is_fact_M.tolist(), strict=True)
    return replace(marks, by_sentence={key: mark for (key, mark), is_fact in kept if is_fact})


def fact_orders(facts: Mapping[str, MarkedFacts]) -> FactOrders:
    """Return how each mechanism orders the tuples of the facts that have one."""
    counts = {name: tau_counts(marked) for name, marked in facts.items()}
    first, marked = next(iter(counts.values())), next(iter(facts.values()))
    has = first.tuples > 0
    return FactOrders(
        bag_F=marked.bag_F[has].tolist(),
        probability_F=marked.probability_F[has].tolist(),
        tuples_F=first.tuples[has].tolist(),
        net={name: (count.concordant - count.discordant)[has].tolist() for name, count in counts.items()},
    )


def _resampled(scores: SortedScores, num_resamples: int) -> dict[str, list[float | None]]:
    def measure_all(weight_B: np.ndarray) -> list[float]:
        curve = scores.curve(weight_B)
        return [measure(curve) for measure in MEASURES.values()]

    values = bootstrap(scores.num_bags, measure_all, num_resamples)
    return {name: plain(values[:, place]) for place, name in enumerate(MEASURES)}


def _thinned(curve: PrecisionRecallCurve) -> list[float]:
    """Return the precision where each of the recalls is first reached; the curve ends where none reaches it."""
    place = np.searchsorted(curve.recall, RECALLS)
    return [float(precision) for precision in curve.precision[place[place < len(curve.recall)]]]
