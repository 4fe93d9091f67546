import dataclasses

import numpy as np
import pytest

from metrics.marked_facts import marked_facts
from sayso.metrics.marked import tie_groups


def test_groups_go_fact_by_fact_from_the_highest_score_down() -> None:
    groups = tie_groups(marked_facts([(1.0, 0), (2.0, 1), (1.0, 1), (9.0, -1)], [], [(3.0, 0)]))
    assert groups.fact_G.tolist() == [0, 0, 2]
    assert groups.num_rationale_G.tolist() == [1, 1, 0]
    assert groups.num_irrelevant_G.tolist() == [0, 1, 1]
    assert groups.rationale_before_G.tolist() == [0, 1, 0]
    assert groups.irrelevant_before_G.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score_N": np.array([1.0])}, "do not fit"),
        ({"score_N": np.array([1.0, np.nan])}, "not a number"),
        ({"mark_N": np.array([1, 2])}, "a mark is none of"),
        ({"start_F1": np.array([0, 1])}, "starts"),
        ({"bag_F": np.array([0, 1])}, "as many bags"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(change, message) -> None:
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(marked_facts([(1.0, 1), (0.0, 0)]), **change)
