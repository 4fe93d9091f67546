from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from sayso.explain.slices import slices, slices_by_cost


@given(st.integers(0, 40), st.integers(1, 9))
def test_slices_cover_everything_in_order(num: int, at_a_time: int) -> None:
    parts = [range(num)[part] for part in slices(num, at_a_time)]
    assert list(chain(*parts)) == list(range(num))
    assert all(1 <= len(part) <= at_a_time for part in parts)


@given(st.lists(st.integers(0, 9)), st.integers(1, 12))
def test_slices_by_cost_keep_the_limit_unless_one_alone_passes_it(cost: list[int], limit: int) -> None:
    parts = [cost[part] for part in slices_by_cost(cost, limit)]
    assert list(chain(*parts)) == cost
    assert all(part and (len(part) == 1 or sum(part) <= limit) for part in parts)
