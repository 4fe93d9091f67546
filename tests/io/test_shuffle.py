import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sayso.io.shuffle import Shelves, ranges_of_shelves


@given(st.lists(st.lists(st.integers(0, 3), max_size=8), min_size=1, max_size=5))
def test_a_shelf_gives_back_its_rows_in_the_order_they_were_put(blocks: list[list[int]]) -> None:
    shelves, number, expected = Shelves(4), 0, [[] for _ in range(4)]
    for block in blocks:
        numbers = np.arange(number, number + len(block))
        shelves.put(np.array(block, np.int64), {"number": numbers, "pair": np.stack([numbers, -numbers], 1)})
        for shelf, each in zip(block, numbers.tolist(), strict=True):
            expected[shelf].append(each)
        number += len(block)
    for shelf, numbers in enumerate(expected):
        taken = shelves.take(shelf, shelf + 1)
        assert taken["number"].tolist() == numbers
        assert taken["pair"].tolist() == [[n, -n] for n in numbers]
    assert shelves.size_K.tolist() == [len(numbers) for numbers in expected]


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(1, 20))
def test_runs_of_shelves_cover_all_and_hold_no_more_than_they_may(sizes: list[int], most: int) -> None:
    runs = list(ranges_of_shelves(np.array(sizes, np.int64), most))
    assert [shelf for first, stop in runs for shelf in range(first, stop)] == list(range(len(sizes)))
    assert all(sum(sizes[first:stop]) <= most or stop == first + 1 for first, stop in runs)
