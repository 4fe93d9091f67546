import numpy as np
import pytest

from sayso.annotate.queue import ORDERS, Candidates, QueueSettings, in_order, read_settings, write_settings
from sayso.annotate.store import Connection
from sayso.errors import BadConfigError

NUMBERS = {"capital": 0, "contains": 1}


def candidates(**columns: list[float]) -> Candidates:
    num = len(next(iter(columns.values())))
    usual = {
        "bag_F": np.arange(num),
        "relation_F": np.zeros(num, np.int64),
        "size_F": np.full(num, 3),
        "num_relations_F": np.ones(num, np.int64),
        "probability_F": np.full(num, np.nan),
        "faithfulness_F": np.full(num, np.nan),
        "is_mixed_F": np.zeros(num, bool),
    }
    return Candidates(**(usual | {name: np.array(values) for name, values in columns.items()}))


def test_contrast_puts_several_relations_then_mixed_evidence_first_and_single_sentences_last() -> None:
    facts = candidates(
        size_F=[1, 5, 5, 5], num_relations_F=[2, 1, 1, 2], is_mixed_F=[True, False, True, False], bag_F=[0, 1, 2, 3]
    )
    assert in_order(facts, QueueSettings(order="contrast"), NUMBERS).tolist() == [3, 2, 1, 0]


def test_doubtful_puts_high_probability_with_low_faithfulness_first_and_the_unknown_last() -> None:
    facts = candidates(probability_F=[0.9, 0.9, 0.3, np.nan], faithfulness_F=[0.8, 0.1, 0.0, np.nan])
    assert in_order(facts, QueueSettings(order="doubtful"), NUMBERS).tolist() == [1, 2, 0, 3]


def test_relation_by_relation() -> None:
    facts = candidates(relation_F=[1, 0, 1, 0])
    order = in_order(facts, QueueSettings(order="relation"), NUMBERS)
    assert facts.relation_F[order].tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("order", ORDERS)
def test_the_queue_has_only_the_selected_relations_and_each_fact_once(order: str) -> None:
    facts = candidates(relation_F=[1, 0, 1, 0])
    settings = QueueSettings(order=order, relations=("contains",))
    assert sorted(in_order(facts, settings, NUMBERS).tolist()) == [0, 2]
    assert sorted(in_order(facts, QueueSettings(order=order), NUMBERS).tolist()) == [0, 1, 2, 3]


def test_the_order_is_the_same_every_time_and_not_that_of_the_corpus() -> None:
    facts = candidates(relation_F=[0] * 50)
    first, second = (in_order(facts, QueueSettings(order="random"), NUMBERS).tolist() for _ in range(2))
    assert first == second != list(range(50))


def test_settings_come_back_as_they_were_written(connection: Connection) -> None:
    assert read_settings(connection) == QueueSettings()
    settings = QueueSettings(annotators_per_fact=3, relations=("capital",), order="random", num_pilot=4)
    write_settings(connection, settings)
    assert read_settings(connection) == settings


@pytest.mark.parametrize("wrong", [{"annotators_per_fact": 0}, {"order": "alphabetic"}, {"num_pilot": -1}])
def test_settings_that_make_no_sense_are_refused(wrong: dict) -> None:
    with pytest.raises(BadConfigError):
        QueueSettings(**wrong)
