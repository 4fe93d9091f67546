"""Metrics of an evaluated run as JSON values: extraction, calibration, and the explanations of each mechanism.

Shapes: B bags, N sentences in all bags, R relations.
"""

from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from itertools import combinations
from typing import Any

import numpy as np
import torch

from sayso.evaluate.evaluation import Evaluation
from sayso.features.batch import BagIndex, Part
from sayso.metrics.calibration import calibration_error_over_bags, reliability_curve, tempered_probability
from sayso.metrics.faithfulness import faithfulness_figures, rank_agreement
from sayso.metrics.interval import Difference, Estimate, Interval, mean_over_units
from sayso.metrics.precision_recall import (
    MEASURES,
    SortedScores,
    area_up_to_recall,
    average_precision,
    compare_curves,
    curve_estimates,
    max_f1,
    precision_at,
    precision_recall_curve,
    sort_scores,
)
from sayso.metrics.rationale import BANDS, HIGH, compare_tau, rationale_figures, tau_figures
from sayso.model.extractor import Extractor
from sayso.model.predict import slices_of_logits
from sayso.records import SUPPORT_LABELS
from sayso.seeding import sub_seed

MOST_SENTENCES: dict[str, int | None] = {"one": 1, "two": 2, "all": None}
"""How many randomly drawn sentences to keep per bag; None keeps all."""
FEW_SEED = 13
"""Fixed, so that all runs are evaluated on the same drawn sentences."""
_FIRST = (100, 200, 300)


def run_figures(run: Evaluation) -> dict[str, Any]:
    """Return all metrics of one run; those over all (bag, relation) scores have intervals over bags."""
    subject, explained = run.subject, run.explained
    estimates = curve_estimates(sorted_scores(run), {**MEASURES, "max_f1": max_f1}, run.settings.num_resamples)
    figures: dict[str, Any] = plain(
        {
            "variant": subject.model.variant,
            "run": subject.name,
            "model_fingerprint": subject.fingerprint,
            "seed": subject.model.training.get("seed"),
            "relations": relation_figures(run.logit_BR, subject.label_BR, subject.num_facts_unread) | estimates,
            "few_sentences": few_sentence_figures(subject.model.extractor, subject.part, FEW_SEED),
            "per_relation": per_relation(run),
            "calibration": calibration_figures(run),
            "quantization": quantization_figures(run),
            "explanations": {name: mechanism_figures(run, name) for name in run.mechanisms},
            "agreement": [
                {
                    "first": one,
                    "second": other,
                    **vars(rank_agreement(explained.scores[one], explained.scores[other], explained.sentences.start)),
                }
                for one, other in combinations(run.mechanisms, 2)
            ],
            "support": {kind: explained.sufficient.kinds.count(kind) for kind in SUPPORT_LABELS},
        }
    )
    return figures


def quantization_figures(run: Evaluation) -> dict[str, Any]:
    """Return how much quantization changes the metrics of extraction; empty without quantization."""
    if run.exact_BR is None:
        return {}
    exact = sort_scores(run.exact_BR, run.subject.label_BR, run.subject.num_facts_unread)
    scores = sorted_scores(run), exact
    return {name: compare_curves(*scores, measure, run.settings.num_resamples) for name, measure in MEASURES.items()}


def sorted_scores(run: Evaluation) -> SortedScores:
    """Return all (bag, relation) scores, sorted."""
    return sort_scores(run.logit_BR, run.subject.label_BR, run.subject.num_facts_unread)


def relation_figures(logit_BR: np.ndarray, label_BR: np.ndarray, num_facts_unread: int = 0) -> dict[str, Any]:
    """Return the metrics over all (bag, relation) scores except NA; tied scores are one step of the curve.

    `area_up_to_recall_0_4` is the paper's AUC: precision summed over recall up to 0.4, not divided by 0.4. Facts
    without a readable sentence stay in the denominator of recall.
    """
    num_facts = int(label_BR.sum()) + num_facts_unread
    curve = precision_recall_curve(logit_BR.ravel(), label_BR.ravel(), num_facts)
    figures = {
        "area_up_to_recall_0_4": area_up_to_recall(curve, 0.4),
        "average_precision": average_precision(curve),
        **{f"precision_at_{num}": precision_at(curve, num) for num in _FIRST},
        "max_f1": max_f1(curve),
    }
    return {**figures, "num_facts": num_facts, "num_bags": len(label_BR)}


def few_sentence_figures(extractor: Extractor, part: Part, seed: int) -> dict[str, dict[str, Any]]:
    """Return precision at 100, 200 and 300 and their mean, with one, two or all sentences per bag.

    This is the protocol of Lin et al. 2016, on bags of two or more sentences; empty if none of them has a label.
    """
    label_BR = part.label_rows(np.flatnonzero(part.table.size_B >= 2)).numpy()
    if not label_BR.any():
        return {}
    found = {}
    for name, logit_BR in logits_of_few(extractor, part, seed).items():
        curve = precision_recall_curve(logit_BR.ravel(), label_BR.ravel(), int(label_BR.sum()))
        at = {f"precision_at_{num}": precision_at(curve, num) for num in _FIRST}
        found[name] = {**at, "mean": float(np.mean(list(at.values()))), "num_bags": len(label_BR)}
    return found


@torch.no_grad()
def logits_of_few(extractor: Extractor, part: Part, seed: int) -> dict[str, np.ndarray]:
    """Return logit_BR of bags with two or more sentences, keeping one, two or all; sentences are encoded once."""
    rank_N = _ranks(part, np.random.default_rng(sub_seed(seed, "few sentences")))
    found: dict[str, list[np.ndarray]] = {name: [] for name in MOST_SENTENCES}
    first = 0
    for batch, vector_ND, _ in slices_of_logits(extractor, part):
        bag_N = batch.bags.bag_N.cpu().numpy()
        is_large_B = np.bincount(bag_N, minlength=batch.bags.num_bags) >= 2
        here_N = rank_N[first : first + len(bag_N)]
        first += len(bag_N)
        if not is_large_B.any():
            continue
        number_B, large = np.cumsum(is_large_B) - 1, torch.from_numpy(np.flatnonzero(is_large_B))
        for name, most in MOST_SENTENCES.items():
            kept = np.flatnonzero(is_large_B[bag_N] & (here_N < (most or len(bag_N))))
            index = BagIndex(
                bag_N=torch.from_numpy(number_B[bag_N[kept]]).to(vector_ND.device),
                head_B=batch.bags.head_B[large],
                tail_B=batch.bags.tail_B[large],
            )
            found[name].append(extractor.classify(vector_ND[torch.from_numpy(kept)], index).cpu().numpy())
    return {name: np.concatenate(pieces) for name, pieces in found.items() if pieces}


def _ranks(part: Part, rng: np.random.Generator) -> np.ndarray:
    """Return each sentence's rank in a random order of its bag."""
    bag_N = part.table.bag_N
    order = np.lexsort((rng.random(len(bag_N)), bag_N))
    rank_N = np.empty(len(bag_N), np.int64)
    rank_N[order] = np.arange(len(bag_N)) - part.table.first_B1[:-1][bag_N]
    return rank_N


def per_relation(run: Evaluation) -> list[dict[str, Any]]:
    """Return each relation's number of facts, average precision and best F1 (None without facts)."""
    rows = []
    for number, relation in enumerate(run.subject.model.relations):
        curve = precision_recall_curve(run.logit_BR[:, number], run.subject.label_BR[:, number])
        figures = {"average_precision": average_precision(curve), "max_f1": max_f1(curve)}
        rows.append({"relation": relation.name, "num_facts": curve.num_positives, **figures})
    return rows


def calibration_figures(run: Evaluation) -> dict[str, Any]:
    """Return the reliability curve and calibration error, also for the probabilities before a calibration, if any.

    `with_temperature` has the same metrics after scaling by a temperature, if one is fitted.
    """
    found = {"as_predicted": _reliability(run, run.logit_BR)}
    if run.uncalibrated_BR is not None:
        found["before_calibration"] = _reliability(run, run.uncalibrated_BR)
    if run.temperature is not None:
        scaled = _reliability(run, run.logit_BR, run.temperature)
        found["with_temperature"] = {"temperature": run.temperature, **scaled}
    return found


def _reliability(run: Evaluation, logit_BR: np.ndarray, temperature: float = 1.0) -> dict[str, Any]:
    probability_BR, label_BR = tempered_probability(logit_BR, temperature), run.subject.label_BR
    weight_BR = np.broadcast_to(run.weight_B[:, None], label_BR.shape)
    error = calibration_error_over_bags(probability_BR, label_BR, run.weight_B, run.settings.num_resamples)
    curve = reliability_curve(probability_BR, label_BR, weight_BR)
    return {"expected_calibration_error": error.value, "interval": error.interval, "curve": curve}


def mechanism_figures(run: Evaluation, mechanism: str) -> dict[str, Any]:
    """Return how well one mechanism's scores agree with the marks and with the model."""
    explained, num = run.explained, run.settings.num_resamples
    marked = run.marked_facts(mechanism)
    # Faithfulness is measured on predicted facts only.
    is_predicted = explained.probability_F >= run.settings.threshold
    faithful = faithfulness_figures(
        explained.probability_F[is_predicted],
        explained.without_top[mechanism][is_predicted],
        explained.only_top[mechanism][is_predicted],
        explained.bag_F[is_predicted],
        num,
    )
    return {
        "tau": {name: tau_figures(marked, band, num) for name, band in BANDS.items()},
        "rationales": rationale_figures(marked, num),
        "faithfulness": faithful,
        "planted_distractor": _planted(run, mechanism, is_predicted),
    }


def _planted(run: Evaluation, mechanism: str, is_predicted_F: np.ndarray) -> dict[str, Any]:
    """Return how far down planted distractors rank in predicted facts, and how often they rank first."""
    rank_F = run.explained.planted_rank[mechanism]
    chosen = is_predicted_F & ~np.isnan(rank_F)
    bag_F, size_F = run.explained.bag_F[chosen], run.explained.sentences.length[chosen]
    # 0: above every sentence of the bag; 1: below all of them.
    depth_F = (rank_F[chosen] - 1) / size_F
    return {
        "mean_depth": mean_over_units(depth_F, bag_F, run.settings.num_resamples),
        "share_first": mean_over_units(rank_F[chosen] == 1, bag_F, run.settings.num_resamples),
        "num_facts": int(chosen.sum()),
    }


def comparison(first: Evaluation, second: Evaluation) -> dict[str, Any]:
    """Return the first run's metrics minus the second's, with a paired bootstrap over bags."""
    num = first.settings.num_resamples
    scores = sorted_scores(first), sorted_scores(second)
    shared = [name for name in first.mechanisms if name in second.mechanisms]
    return {
        "first": first.subject.name,
        "second": second.subject.name,
        **{name: plain(compare_curves(*scores, measure, num)) for name, measure in MEASURES.items()},
        "tau_on_H_of_both": {
            name: plain(compare_tau(first.marked_facts(name), second.marked_facts(name), HIGH, num)) for name in shared
        },
    }


def plain(value: Any) -> Any:
    """Convert a metric to JSON values: NaN to None, intervals to `low` and `high`, arrays to lists.

    >>> plain(Estimate(0.5, Interval(0.25, 0.75)))
    {'value': 0.5, 'low': 0.25, 'high': 0.75}
    """
    if isinstance(value, Estimate | Difference):
        interval = value.interval or Interval(float("nan"), float("nan"))
        extra = {"p_value": value.p_value} if isinstance(value, Difference) else {}
        return plain({"value": value.value, "low": interval.low, "high": interval.high, **extra})
    if isinstance(value, Interval):
        return value._asdict()
    if is_dataclass(value) and not isinstance(value, type):
        return {name: plain(getattr(value, name)) for name in asdict(value)}
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
