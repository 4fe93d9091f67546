"""Baselines that every report compares its runs with, fitted on the training part of the store.

Four of them read no sentences: they score a fact by its entity types, its bag size, or its entities alone. A run's
reading gain is its average precision minus that of the best of these four. The fifth is a logistic regression that
reads the words between the mentions.

The size exponent of 1, the smoothing of 5 bags and the penalty of 2 in the logistic regression are not tuned per run.
They were fixed by hand while looking at metrics on the available FB-NYT subset and on the demo corpus, test parts
included, and the stronger version of each row was kept. The reading gain is therefore too small, if anything.
Shapes: B bags, F facts in the training part, K distinct keys, R relations.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sayso.evaluate.evaluation import Evaluation
from sayso.evaluate.figures import plain, relation_figures, sorted_scores
from sayso.evaluate.logistic_regression import logistic_regression_scores
from sayso.metrics.interval import Difference, bootstrap, difference
from sayso.metrics.precision_recall import average_precision, sort_scores
from sayso.store.columns import to_numpy
from sayso.store.store import Store
from sayso.store.table import BagTable

LOGISTIC_REGRESSION = "logistic regression"
NUM_SMOOTHING_BAGS = 5.0
"""Pseudo-bags added to each key, with the relation as frequent in them as in all training bags; fixed by hand."""


class Baseline(NamedTuple):
    """Scores of every bag in a part; higher means more probable."""

    name: str
    reads_sentences: bool
    score_BR: np.ndarray


class RelationRates:
    """Relation frequencies among the training bags that share a key.

    Args:
        train: The training bags.
        num_relations: R; relations without training bags also get a rate.
    """

    def __init__(self, train: BagTable, num_relations: int) -> None:
        self.num_relations = num_relations
        self.bag_F = np.repeat(np.arange(train.num_bags), train.relations.length)
        self.relation_F = train.relations.value
        num_facts_R = np.bincount(self.relation_F, minlength=num_relations)
        self.overall_R = (num_facts_R + 0.5) / (train.num_bags + 1)

    def by_key(self, train_key_B: np.ndarray, key_B: np.ndarray) -> np.ndarray:
        """Return rate_BR for bags with these keys: (facts + 5 · overall rate) / (bags + 5) over the training bags."""
        keys_K, index_B = np.unique(key_B, return_inverse=True)
        is_asked_B = np.isin(train_key_B, keys_K)
        place_B = np.searchsorted(keys_K, train_key_B)
        num_bags_K = np.bincount(place_B[is_asked_B], minlength=len(keys_K))
        is_asked_F = is_asked_B[self.bag_F]
        fact_F = place_B[self.bag_F[is_asked_F]] * self.num_relations + self.relation_F[is_asked_F]
        num_facts_KR = np.bincount(fact_F, minlength=len(keys_K) * self.num_relations).reshape(-1, self.num_relations)
        smoothed_KR = num_facts_KR + NUM_SMOOTHING_BAGS * self.overall_R
        rate_BR: np.ndarray = (smoothed_KR / (num_bags_K[:, None] + NUM_SMOOTHING_BAGS))[index_B]
        return rate_BR


def no_reading_baselines(train: BagTable, part: BagTable, type_E: np.ndarray, num_relations: int) -> list[Baseline]:
    """Return the log odds of every fact in a part, for each baseline that reads no sentences.

    Args:
        train: The training bags.
        part: The bags to score. Only the entities and bag sizes of both tables are used.
        type_E: The type of each entity.
        num_relations: R.

    Returns:
        `types`: the odds for the pair of types. `size`: the overall odds times the number of sentences. `names`: the
        head's odds times the tail's odds, divided by the overall odds. `types + size`: the odds for the pair of types
        times the number of sentences.
    """
    rates = RelationRates(train, num_relations)
    overall_R = _log_odds(rates.overall_R)
    types_BR = _log_odds(rates.by_key(_type_pair(train, type_E), _type_pair(part, type_E)))
    head_BR = _log_odds(rates.by_key(train.head_B, part.head_B))
    tail_BR = _log_odds(rates.by_key(train.tail_B, part.tail_B))
    log_size_B1 = np.log(part.size_B)[:, None]
    scores = {
        "types": types_BR,
        "size": overall_R + log_size_B1,
        "names": head_BR + tail_BR - overall_R,
        "types + size": types_BR + log_size_B1,
    }
    return [Baseline(name, reads_sentences=False, score_BR=score_BR) for name, score_BR in scores.items()]


def baselines_of(store: Store, part: BagTable) -> list[Baseline]:
    """Return all baselines, fitted on the store's training part and scored on `part`."""
    type_E = np.asarray(to_numpy(store.entities["type"]))
    asked = store.part("train"), part, type_E, len(store.relations)
    reader = Baseline(LOGISTIC_REGRESSION, reads_sentences=True, score_BR=logistic_regression_scores(*asked))
    return [*no_reading_baselines(*asked), reader]


def baseline_figures(
    baselines: Sequence[Baseline], label_BR: np.ndarray, num_facts_unread: int
) -> list[dict[str, Any]]:
    """Return the extraction metrics of each baseline, computed as for a run but without intervals."""
    return [
        {
            "baseline": each.name,
            "reads_sentences": each.reads_sentences,
            "relations": plain(relation_figures(each.score_BR, label_BR, num_facts_unread)),
        }
        for each in baselines
    ]


def gains(
    runs: Sequence[Evaluation], baselines: Sequence[Baseline], figures: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return each run's average precision minus that of the baselines, with a paired bootstrap over bags.

    Args:
        runs: Runs evaluated on the same part.
        baselines: Baselines scored on that part.
        figures: The result of `baseline_figures` for these baselines.

    Returns:
        For each run, its `reading_gain` over the best baseline that reads no sentences and its
        `gain_over_logistic_regression`, each with value, interval, p-value and the name of the baseline.
    """
    precisions = [row["relations"]["average_precision"] or 0.0 for row in figures]
    silent = [place for place, each in enumerate(baselines) if not each.reads_sentences]
    best = baselines[max(silent, key=precisions.__getitem__)]
    network_free = next(each for each in baselines if each.name == LOGISTIC_REGRESSION)
    others = {"reading_gain": best, "gain_over_logistic_regression": network_free}
    subject, settings = runs[0].subject, runs[0].settings
    scores = [sorted_scores(run) for run in runs]
    scores += [sort_scores(each.score_BR, subject.label_BR, subject.num_facts_unread) for each in others.values()]

    def precision_of_all(weight_B: NDArray[np.int64]) -> list[float]:
        return [average_precision(each.curve(weight_B)) for each in scores]

    whole = precision_of_all(np.ones(len(subject.label_BR), np.int64))
    resampled = bootstrap(len(subject.label_BR), precision_of_all, settings.num_resamples)
    return [
        {
            name: {"baseline": other.name, **plain(_difference(whole, resampled, run, place))}
            for place, (name, other) in enumerate(others.items(), len(runs))
        }
        for run in range(len(runs))
    ]


def _difference(whole: list[float], resampled: np.ndarray, first: int, second: int) -> Difference:
    return difference(whole[first] - whole[second], resampled[:, first] - resampled[:, second])


def _type_pair(table: BagTable, type_E: np.ndarray) -> np.ndarray:
    type_E = type_E.astype(np.int64)  # stored as a small integer type, so products would overflow
    pair_B: np.ndarray = type_E[table.head_B] * (type_E.max(initial=0) + 1) + type_E[table.tail_B]
    return pair_B


def _log_odds(rate: np.ndarray) -> np.ndarray:
    odds: np.ndarray = np.log(rate) - np.log1p(-rate)
    return odds
