"""The settings of the queue, which leads control: which facts are annotated, and in which order.

Shapes: F facts in the queue (one per label of a bag).
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sayso.annotate.store import Connection
from sayso.config import Range, check_ranges
from sayso.errors import BadConfigError
from sayso.metrics.faithfulness import comprehensiveness
from sayso.seeding import sub_seed
from sayso.store.predictions import Predictions
from sayso.store.table import BagTable

MAX_ANNOTATORS = 20
_SEED = 13


@dataclass(frozen=True, kw_only=True)
class QueueSettings:
    """How many annotators mark each fact, which relations are annotated (empty: all), and in which order.

    `num_pilot` is the size of the pilot round: facts with known answers that everyone marks first.
    """

    annotators_per_fact: Annotated[int, Range(1, MAX_ANNOTATORS)] = 2
    relations: tuple[str, ...] = ()
    order: str = "contrast"
    num_pilot: Annotated[int, Range(0, 1_000_000)] = 0

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.order not in ORDERS:
            raise BadConfigError(f"unknown order {self.order!r}; choose one of {', '.join(ORDERS)}")


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """The facts that can be annotated, and the values they are sorted by; NaN without a prediction.

    `faithfulness_F` is the drop in probability without the top-ranked sentence. `is_mixed_F` is true if the prediction
    rests on only some sentences of the bag.
    """

    bag_F: np.ndarray
    relation_F: np.ndarray
    size_F: np.ndarray
    num_relations_F: np.ndarray
    probability_F: np.ndarray
    faithfulness_F: np.ndarray
    is_mixed_F: np.ndarray


def read_settings(connection: Connection) -> QueueSettings:
    """Return the stored settings, or the defaults."""
    row = connection.execute("SELECT value FROM setting WHERE name = 'queue'").fetchone()
    if row is None:
        return QueueSettings()
    values = json.loads(row[0])
    return QueueSettings(**{**values, "relations": tuple(values["relations"])})


def write_settings(connection: Connection, settings: QueueSettings) -> None:
    """Store the settings."""
    connection.execute("INSERT OR REPLACE INTO setting VALUES ('queue', ?)", (json.dumps(asdict(settings)),))


def find_candidates(
    table: BagTable, predictions: Predictions | None, relation_numbers: Mapping[str, int]
) -> Candidates:
    """Return every label of every bag, with its prediction."""
    bag_F, relation_F = table.bag_L, np.asarray(table.relations.value, np.int64)
    facts, by = (predictions.facts, predictions.manifest["ranked_by"]) if predictions else ({}, "")
    row_F = _rows(facts, relation_numbers, bag_F, relation_F)

    def predicted(name: str) -> np.ndarray:
        # Row -1, without a prediction, is the NaN at the end.
        value_F: np.ndarray = np.append(np.asarray(facts.get(name, ()), np.float64), np.nan)[row_F]
        return value_F

    probability_F = predicted("probability")
    return Candidates(
        bag_F=bag_F,
        relation_F=relation_F,
        size_F=table.size_B[bag_F],
        num_relations_F=table.relations.length[bag_F],
        probability_F=probability_F,
        faithfulness_F=comprehensiveness(probability_F, predicted(f"probability_without_top.{by}")),
        is_mixed_F=predicted("smallest_size") < predicted("num_sentences"),
    )


def _rows(
    facts: Mapping[str, pa.Array], relation_numbers: Mapping[str, int], bag_F: np.ndarray, relation_F: np.ndarray
) -> np.ndarray:
    """Return the row of each fact in the predictions; -1 if it has none."""
    if not facts:
        return np.full(len(bag_F), -1)
    width = len(relation_numbers)
    numbers = np.array([relation_numbers[name] for name in facts["relation"].to_pylist()], np.int64)
    keys = pa.array(np.asarray(facts["bag"], np.int64) * width + numbers)
    rows: np.ndarray = pc.index_in(pa.array(bag_F * width + relation_F), value_set=keys).fill_null(-1).to_numpy()
    return rows


def in_order(candidates: Candidates, settings: QueueSettings, relation_numbers: Mapping[str, int]) -> np.ndarray:
    """Return the indices of the candidates that the settings select, in order.

    Ties are broken by a random order that is the same every time.
    """
    chance_F = np.random.default_rng(sub_seed(_SEED, "queue")).permutation(len(candidates.bag_F))
    order = np.lexsort((chance_F, *ORDERS[settings.order](candidates)))
    if not settings.relations:
        return order
    wanted = [relation_numbers[name] for name in settings.relations if name in relation_numbers]
    return order[np.isin(candidates.relation_F[order], wanted)]


def _contrast(facts: Candidates) -> tuple[np.ndarray, ...]:
    """Return sort keys: bags with several relations first, then bags whose prediction rests on only some sentences.

    Single-sentence bags come last.
    """
    is_single_F = facts.size_F < 2
    return ~facts.is_mixed_F, facts.num_relations_F < 2, is_single_F


def _doubtful(facts: Candidates) -> tuple[np.ndarray, ...]:
    """Return a sort key: high probability with low faithfulness first, facts without a prediction last."""
    return (-np.nan_to_num(facts.probability_F - facts.faithfulness_F, nan=-np.inf),)


ORDERS: dict[str, Callable[[Candidates], tuple[np.ndarray, ...]]] = {
    "contrast": _contrast,
    "doubtful": _doubtful,
    "relation": lambda facts: (facts.relation_F,),
    "random": lambda _: (),
}
"""The sort keys of each order; the primary key is the last one."""
