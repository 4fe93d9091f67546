"""A baseline that reads sentences: logistic regression on entity types and the words between the mentions.

There is one classifier per relation, over binary features of a bag: the types of head, tail and both; and, in any of
its sentences, each word between the mentions, which mention comes first, and how far apart they are.
Shapes: B bags, N sentences in all bags, V feature values in all bags, W features kept, R relations.
"""

from collections.abc import Iterator

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import expit

from sayso.seeding import sub_seed
from sayso.store.rows import Rows, ranges
from sayso.store.table import BagTable

MAX_TRAINING_BAGS = 50_000
"""Larger training parts are downsampled to this many bags, which keeps reports fast."""
MAX_WORDS_BETWEEN = 10
MIN_BAGS = 2
"""Features that occur in fewer training bags are left out."""
MAX_STEPS = 30


class LogisticRegression:
    """One classifier per relation, fitted on the training bags with a penalty that is chosen later.

    Args:
        train: The training bags.
        type_E: The type of each entity.
        num_relations: R; a relation without training bags gets a logit of −inf.
    """

    def __init__(self, train: BagTable, type_E: np.ndarray, num_relations: int) -> None:
        if train.num_bags > MAX_TRAINING_BAGS:
            rng = np.random.default_rng(sub_seed(0, "bags of the logistic regression"))
            train = train.take_bags(np.sort(rng.choice(train.num_bags, MAX_TRAINING_BAGS, replace=False)))
        self._train, self._type_E, self.num_relations = train, type_E, num_relations
        found = bag_features(train, type_E)
        keys, num_bags = np.unique(found.value, return_counts=True)
        self._kept_W = keys[num_bags >= MIN_BAGS]
        self._feature_BW = _as_matrix(found, self._kept_W)

    def scores(self, part: BagTable, penalty: float) -> np.ndarray:
        """Return logit_BR for a part, from classifiers fitted with this penalty."""
        train, part_BW = self._train, _as_matrix(bag_features(part, self._type_E), self._kept_W)
        bag_L = train.bag_L
        logit_BR = np.full((part.num_bags, self.num_relations), -np.inf)
        for relation in np.unique(train.relations.value).tolist():
            label_B = np.zeros(train.num_bags)
            label_B[bag_L[train.relations.value == relation]] = 1.0
            weight_W, intercept = fit(self._feature_BW, label_B, penalty)
            logit_BR[:, relation] = part_BW @ weight_W + intercept
        return logit_BR


def bag_features(table: BagTable, type_E: np.ndarray) -> Rows:
    """Return the distinct features of each bag as sorted integers.

    A feature is encoded as 8 times its value (a word, a type, a pair of types, a distance) plus its kind.
    """
    bags, values = [], []
    for kind, (bag_V, value_V) in enumerate(_feature_kinds(table, type_E)):
        bags.append(bag_V)
        values.append(value_V.astype(np.int64) * 8 + kind)
    bag_V, value_V = np.concatenate(bags), np.concatenate(values)
    order = np.lexsort((value_V, bag_V))
    bag_V, value_V = bag_V[order], value_V[order]
    is_first_V = (np.diff(bag_V, prepend=-1) != 0) | (np.diff(value_V, prepend=-1) != 0)
    return Rows.of_lengths(value_V[is_first_V], np.bincount(bag_V[is_first_V], minlength=table.num_bags))


def _feature_kinds(table: BagTable, type_E: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the bags and values of the features of each kind."""
    head_B, tail_B = (type_E[entity_B].astype(np.int64) for entity_B in (table.head_B, table.tail_B))
    every_B, bag_N = np.arange(table.num_bags), table.bag_N
    yield every_B, head_B
    yield every_B, tail_B
    yield every_B, head_B * (int(type_E.max(initial=0)) + 1) + tail_B
    sentences = table.read_part(np.arange(table.num_sentences))
    # The first span of each mention: its start, then its stop.
    head_N2, tail_N2 = (
        spans.value[spans.start[:-1, None] + np.arange(2)].astype(np.int64)
        for spans in (sentences.head_spans, sentences.tail_spans)
    )
    is_head_first_N = head_N2[:, 0] <= tail_N2[:, 0]
    from_N = np.where(is_head_first_N, head_N2[:, 1], tail_N2[:, 1])
    gap_N = np.maximum(np.where(is_head_first_N, tail_N2[:, 0], head_N2[:, 0]) - from_N, 0)
    # Distance bins: 0, 1, 2 to 3, 4 to 7, … words.
    yield bag_N, 2 * np.ceil(np.log2(gap_N + 1)).astype(np.int64) + is_head_first_N
    num_N = np.minimum(gap_N, MAX_WORDS_BETWEEN)
    word_V = sentences.tokens.value[ranges(sentences.tokens.start[:-1] + from_N, num_N)].astype(np.int64)
    yield np.repeat(bag_N, num_N), 2 * word_V + np.repeat(is_head_first_N, num_N)


def _as_matrix(features: Rows, kept_W: np.ndarray) -> csr_array:
    """Return the sparse 0/1 matrix with a row per bag and a column per kept feature."""
    is_kept_V = np.isin(features.value, kept_W)
    column_V = np.searchsorted(kept_W, features.value[is_kept_V])
    start = np.append(0, np.cumsum(is_kept_V))[features.start]
    return csr_array((np.ones(len(column_V)), column_V, start), shape=(len(features), len(kept_W)))


def fit(feature_BW: csr_array, label_B: np.ndarray, penalty: float) -> tuple[np.ndarray, float]:
    """Return the weights and intercept that minimise log loss + penalty / 2 · sum of squared weights."""
    transposed_WB = feature_BW.T.tocsr()
    num_positive = label_B.sum()
    start = np.zeros(feature_BW.shape[1] + 1)
    start[-1] = np.log((num_positive + 0.5) / (len(label_B) - num_positive + 0.5))

    def loss_and_gradient(weight: np.ndarray) -> tuple[float, np.ndarray]:
        logit_B = feature_BW @ weight[:-1] + weight[-1]
        loss = float(np.logaddexp(0.0, logit_B).sum() - label_B @ logit_B + penalty / 2 * weight[:-1] @ weight[:-1])
        excess_B = expit(logit_B) - label_B
        return loss, np.append(transposed_WB @ excess_B + penalty * weight[:-1], excess_B.sum())

    found = minimize(loss_and_gradient, start, jac=True, method="L-BFGS-B", options={"maxiter": MAX_STEPS})
    return found.x[:-1], float(found.x[-1])
