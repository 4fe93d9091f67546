"""Baselines that every report compares its runs with, fitted on the training part of the store.

Four of them read no sentences: they score a fact by its entity types, its bag size, or its entities alone. A run's
reading gain is its average precision minus that of the best of these four. The fifth is a logistic regression that
reads the words between the mentions.

Smoothing, size exponent and penalty are chosen for each baseline and store: those with the highest average precision on
the validation part, from a fixed list.
Shapes: B bags, F facts in the training part, K distinct keys, R relations.
"""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sayso.evaluate.evaluation import Evaluation
from sayso.evaluate.figures import plain, relation_figures, sorted_scores
from sayso.evaluate.logistic_regression import LogisticRegression
from sayso.metrics.interval import Difference, bootstrap, difference
from sayso.metrics.precision_recall import average_precision, precision_recall_curve, sort_scores
from sayso.store.columns import to_numpy
from sayso.store.group import combined
from sayso.store.store import Store
from sayso.store.table import BagTable

LOGISTIC_REGRESSION = "logistic regression"
_SMOOTHINGS = (5.0, 1.0, 2.0, 10.0, 20.0, 50.0)
_EXPONENTS = (1.0, 0.5, 1.5, 2.0)
_PENALTIES = (2.0, 0.5, 1.0, 4.0, 8.0)
"""The constants to choose from; if several are equally good on validation, the first is used."""


class Constants(NamedTuple):
    """Hyperparameters of the baselines; each baseline ignores those that it does not need.

    `smoothing` is the number of pseudo-bags added to each key, with the relation as frequent in them as in all training
    bags. The odds are multiplied by the number of sentences to the power of `exponent`. `penalty` multiplies half the
    sum of squared weights of the logistic regression, without the intercept.
    """

    smoothing: float = _SMOOTHINGS[0]
    exponent: float = _EXPONENTS[0]
    penalty: float = _PENALTIES[0]


class Baseline(NamedTuple):
    """Scores of every bag in a part; higher means more probable."""

    name: str
    reads_sentences: bool
    score_BR: np.ndarray
    constants: Constants = Constants()


RowScore = Callable[[BagTable, Constants], np.ndarray]
"""Returns score_BR for the bags of a part."""


class RelationRates:
    """Relation frequencies among the training bags that share a key.

    Args:
        train: The training bags.
        num_relations: R; relations without training bags also get a rate.
    """

    def __init__(self, train: BagTable, num_relations: int) -> None:
        self.num_relations = num_relations
        self.bag_F = train.bag_L
        self.relation_F = train.relations.value
        num_facts_R = np.bincount(self.relation_F, minlength=num_relations)
        self.overall_R = (num_facts_R + 0.5) / (train.num_bags + 1)

    def by_key(self, train_key_B: np.ndarray, key_B: np.ndarray, smoothing: float) -> np.ndarray:
        """Return rate_BR for bags with these keys: (facts + s · overall rate) / (bags + s) over the training bags."""
        keys_K, index_B = np.unique(key_B, return_inverse=True)
        is_asked_B = np.isin(train_key_B, keys_K)
        place_B = np.searchsorted(keys_K, train_key_B)
        num_bags_K = np.bincount(place_B[is_asked_B], minlength=len(keys_K))
        is_asked_F = is_asked_B[self.bag_F]
        fact_F = place_B[self.bag_F[is_asked_F]] * self.num_relations + self.relation_F[is_asked_F]
        num_facts_KR = np.bincount(fact_F, minlength=len(keys_K) * self.num_relations).reshape(-1, self.num_relations)
        smoothed_KR = num_facts_KR + smoothing * self.overall_R
        rate_BR: np.ndarray = (smoothed_KR / (num_bags_K[:, None] + smoothing))[index_B]
        return rate_BR


class NoReading:
    """The log odds of every fact, by baselines that read no sentences.

    Args:
        train: The training bags. Only the entities and sizes of bags are used.
        type_E: The type of each entity.
        num_relations: R.
    """

    def __init__(self, train: BagTable, type_E: np.ndarray, num_relations: int) -> None:
        self._train, self._type_E = train, type_E
        self._rates = RelationRates(train, num_relations)
        self._overall_R = _log_odds(self._rates.overall_R)

    @property
    def rows(self) -> dict[str, RowScore]:
        """The score of each baseline."""
        return {"types": self.types, "size": self.size, "names": self.names, "types + size": self.types_and_size}

    def types(self, part: BagTable, constants: Constants) -> np.ndarray:
        """Return the odds for the pair of types."""
        return self._odds(_type_pair(self._train, self._type_E), _type_pair(part, self._type_E), constants)

    def size(self, part: BagTable, constants: Constants) -> np.ndarray:
        """Return the overall odds times a power of the number of sentences."""
        score_BR: np.ndarray = self._overall_R + constants.exponent * np.log(part.size_B)[:, None]
        return score_BR

    def names(self, part: BagTable, constants: Constants) -> np.ndarray:
        """Return the head's odds times the tail's odds, divided by the overall odds."""
        head_BR = self._odds(self._train.head_B, part.head_B, constants)
        score_BR: np.ndarray = head_BR + self._odds(self._train.tail_B, part.tail_B, constants) - self._overall_R
        return score_BR

    def types_and_size(self, part: BagTable, constants: Constants) -> np.ndarray:
        """Return the odds for the pair of types times a power of the number of sentences."""
        score_BR: np.ndarray = self.types(part, constants) + constants.exponent * np.log(part.size_B)[:, None]
        return score_BR

    def _odds(self, train_key_B: np.ndarray, key_B: np.ndarray, constants: Constants) -> np.ndarray:
        return _log_odds(self._rates.by_key(train_key_B, key_B, constants.smoothing))


_USED = {
    "types": ("smoothing",),
    "size": ("exponent",),
    "names": ("smoothing",),
    "types + size": ("smoothing", "exponent"),
    LOGISTIC_REGRESSION: ("penalty",),
}
"""The constants that each baseline uses."""
_CHOICES = {"smoothing": _SMOOTHINGS, "exponent": _EXPONENTS, "penalty": _PENALTIES}


def baselines_of(store: Store, part: BagTable) -> list[Baseline]:
    """Return all baselines, fitted on the store's training part, with constants chosen on its validation part."""
    type_E, num_relations = np.asarray(to_numpy(store.entities["type"])), len(store.relations)
    train, validation = store.part("train"), store.part("validation")
    regression = LogisticRegression(train, type_E, num_relations)
    rows = NoReading(train, type_E, num_relations).rows
    rows[LOGISTIC_REGRESSION] = lambda bags, constants: regression.scores(bags, constants.penalty)
    label_BR = validation.label_BR(num_relations)
    baselines = []
    for name, score in rows.items():
        constants = choose(_USED[name], score, validation, label_BR)
        baselines.append(Baseline(name, name == LOGISTIC_REGRESSION, score(part, constants), constants))
    return baselines


def choose(names: Sequence[str], score: RowScore, validation: BagTable, label_BR: np.ndarray) -> Constants:
    """Return the constants with the highest average precision on validation; the defaults if it has no facts."""
    if not label_BR.any():
        return Constants()
    values = product(*(_CHOICES[name] for name in names))
    tried = [Constants(**dict(zip(names, each, strict=True))) for each in values]
    precisions = [average_precision(precision_recall_curve(score(validation, each), label_BR)) for each in tried]
    return tried[int(np.argmax(precisions))]


def baseline_figures(
    baselines: Sequence[Baseline], label_BR: np.ndarray, num_facts_unread: int
) -> list[dict[str, Any]]:
    """Return the extraction metrics of each baseline, computed as for a run but without intervals."""
    return [
        {
            "baseline": each.name,
            "reads_sentences": each.reads_sentences,
            "constants": {name: getattr(each.constants, name) for name in _USED[each.name]},
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
    return combined(type_E[table.head_B], type_E[table.tail_B])


def _log_odds(rate: np.ndarray) -> np.ndarray:
    odds: np.ndarray = np.log(rate) - np.log1p(-rate)
    return odds
