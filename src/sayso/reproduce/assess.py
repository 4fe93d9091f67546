"""Evaluates a trained run: metrics on the test part and on resamples of it, and the order of every marked tuple.

Shapes: B bags, N sentences of a part, R relations, F facts with a mark, E their sentences, K resamples, M measures.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch

from sayso.evaluate.figures import plain, relation_figures
from sayso.explain import mechanisms_named
from sayso.explain.base import Explainer, explain_all
from sayso.features.batch import Part
from sayso.metrics.precision_recall import (
    MEASURES,
    PrecisionRecallCurve,
    precision_recall_curve,
    sort_scores,
)
from sayso.metrics.rationale import MarkedFacts, tau_counts
from sayso.model.extractor import Extractor
from sayso.model.predict import predict_logits, slices_of_logits
from sayso.model.ragged import bag_max
from sayso.reproduce.folder import RECALLS, FactOrders, RunResult
from sayso.reproduce.paper import MECHANISMS
from sayso.reproduce.plan import mark_sets
from sayso.store.marks import SentenceMarks
from sayso.store.rows import Rows, ranges
from sayso.store.store import Store
from sayso.train.config import RunConfig
from sayso.train.data import RunData


class Assessor:
    """Evaluates models on one store; parts are read once per `data.mentions` setting."""

    def __init__(self, store: Store, num_resamples: int) -> None:
        self.store, self.num_resamples = store, num_resamples
        self.mark_sets = mark_sets(store)
        self._read: dict[tuple[str, bool], tuple[RunData, Part]] = {}

    def assess(self, extractor: Extractor, config: RunConfig, result: RunResult) -> RunResult:
        """Return the result of a run with the metrics of its trained model."""
        data, test = self._data(config)
        label_BR = test.label_rows(np.arange(test.table.num_bags)).numpy()
        logit_BR = predict_logits(extractor, test)
        unread = self.store.num_facts_unread("test")
        curve = precision_recall_curve(logit_BR, label_BR, int(label_BR.sum()) + unread)
        mechanisms = mechanisms_named(list(MECHANISMS))
        resampled_KM = sort_scores(logit_BR, label_BR, unread).resample(MEASURES, self.num_resamples)
        return replace(
            result,
            test=plain(relation_figures(logit_BR, label_BR, unread)),
            resampled={name: plain(column_K) for name, column_K in zip(MEASURES, resampled_KM.T, strict=True)},
            curve=_thinned(curve),
            orders={
                name: fact_orders(marked_facts(extractor, test, marks, mechanisms))
                for name, marks in self.mark_sets.items()
            },
            weights={} if data.direct is None else weights_by_source(extractor, data.validation, data.direct),
        )

    def _data(self, config: RunConfig) -> tuple[RunData, Part]:
        """Return the run's data and test part, which do not depend on its seed."""
        key = config.data.mentions, config.needs_direct
        if key not in self._read:
            data = RunData(self.store, config)
            self._read[key] = data, data.part("test")
        return self._read[key]


def marked_facts(
    extractor: Extractor, part: Part, marks: SentenceMarks, mechanisms: Mapping[str, Explainer]
) -> dict[str, MarkedFacts]:
    """Return each mechanism's scores for all sentences of every fact that has a mark."""
    table = part.table
    fact_F2 = np.unique(np.stack([table.bag_N[marks.keys[:, 0]], marks.keys[:, 1]], axis=1), axis=0)
    bag_F, relation_F = fact_F2[:, 0], fact_F2[:, 1]
    size_F = table.size_B[bag_F]
    sentences = Rows.of_lengths(ranges(table.first_B1[bag_F], size_F), size_F)
    relation_E = np.repeat(relation_F, size_F)
    logit_BR, score_NR = _score(extractor, part, mechanisms, np.unique(bag_F))
    unscored = MarkedFacts(
        score_N=np.zeros(len(relation_E)),
        mark_N=marks.look_up(sentences.value, relation_E),
        start_F1=sentences.start,
        bag_F=bag_F,
        probability_F=1.0 / (1.0 + np.exp(-logit_BR[bag_F, relation_F].astype(np.float64))),
    )
    return {
        name: replace(unscored, score_N=scores[sentences.value, relation_E].astype(np.float64))
        for name, scores in score_NR.items()
    }


def _score(
    extractor: Extractor, part: Part, mechanisms: Mapping[str, Explainer], bags: np.ndarray
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the logits of all bags, and the sentence scores of slices that contain one of `bags` (0 elsewhere)."""
    table = part.table
    logits = np.zeros((table.num_bags, part.num_relations), np.float32)
    scores = {name: np.zeros((table.num_sentences, part.num_relations), np.float32) for name in mechanisms}
    first = 0
    for batch, vector_ND, logit_BR in slices_of_logits(extractor, part):
        stop = first + batch.bags.num_bags
        logits[first:stop] = logit_BR.cpu().numpy()
        if ((bags >= first) & (bags < stop)).any():
            rows = slice(int(table.first_B1[first]), int(table.first_B1[stop]))
            for name, score_NR in explain_all(mechanisms, extractor, vector_ND, batch.bags).items():
                scores[name][rows] = score_NR.detach().cpu().numpy()
        first = stop
    return logits, scores


def fact_orders(facts: Mapping[str, MarkedFacts]) -> FactOrders:
    """Return how each mechanism orders the tuples of each fact, leaving out facts without tuples."""
    counts = {name: tau_counts(marked) for name, marked in facts.items()}
    first, marked = next(iter(counts.values())), next(iter(facts.values()))
    has = first.tuples > 0
    return FactOrders(
        bag_F=marked.bag_F[has].tolist(),
        probability_F=marked.probability_F[has].tolist(),
        tuples_F=first.tuples[has].tolist(),
        net={name: (count.concordant - count.discordant)[has].tolist() for name, count in counts.items()},
    )


@torch.no_grad()
def weights_by_source(extractor: Extractor, corpus: Part, direct: Part) -> dict[str, float]:
    """Return DirectSup's mean sentence weight in positive bags, NA bags, direct positives and direct negatives.

    If positives come from one source and negatives from another, the classifier can learn the source instead of the
    task. `silent_share` is the fraction of dimensions in which all sentences of a bag are zero.
    """
    weight_N, silent = _weigh(extractor, corpus)
    is_positive_N = np.repeat(corpus.table.is_positive_B, corpus.table.size_B)
    weight_Q, _ = _weigh(extractor, direct)
    expresses_Q = direct.table.expresses_N
    return {
        "positive_bags": float(weight_N[is_positive_N].mean()),
        "na_bags": float(weight_N[~is_positive_N].mean()),
        "silent_share": silent,
        "direct_positives": float(weight_Q[expresses_Q >= 0.5].mean()),
        "direct_negatives": float(weight_Q[expresses_Q < 0.5].mean()),
    }


def _weigh(extractor: Extractor, part: Part) -> tuple[np.ndarray, float]:
    weights, silent = [], []
    for batch, vector_ND, _ in slices_of_logits(extractor, part):
        weights.append(extractor.aggregator.weigh(vector_ND, batch.bags, extractor.scorer).mean(1).cpu().numpy())
        peak_BD = bag_max(vector_ND, batch.bags.bag_N, batch.bags.num_bags)
        silent.append((peak_BD == 0).float().mean(1).cpu().numpy())
    return np.concatenate(weights), float(np.concatenate(silent).mean())


def _thinned(curve: PrecisionRecallCurve) -> list[float]:
    """Return the precision when each of RECALLS is first reached, up to the curve's last recall."""
    place = np.searchsorted(curve.recall, RECALLS)
    return [float(precision) for precision in curve.precision[place[place < len(curve.recall)]]]
