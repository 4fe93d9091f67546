import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sayso.io.shuffle import DiskShuffle, partition_ranges


@given(st.lists(st.lists(st.integers(0, 3), max_size=8), min_size=1, max_size=5))
def test_a_partition_gives_back_its_values_in_the_order_they_were_put(blocks: list[list[int]]) -> None:
    shuffle, number, expected = DiskShuffle(4), 0, [[] for _ in range(4)]
    for block in blocks:
        numbers = np.arange(number, number + len(block))
        shuffle.put("number", np.array(block, np.int64), numbers)
        shuffle.put("pair", np.array(block, np.int64), np.stack([numbers, -numbers], 1))
        for partition, each in zip(block, numbers.tolist(), strict=True):
            expected[partition].append(each)
        number += len(block)
    for partition, numbers in enumerate(expected):
        assert shuffle.take("number", partition, partition + 1).tolist() == numbers
        assert shuffle.take("pair", partition, partition + 1).tolist() == [[n, -n] for n in numbers]
    assert shuffle.size_K("number").tolist() == [len(numbers) for numbers in expected]


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(1, 20))
def test_ranges_cover_all_partitions_and_hold_no_more_than_they_may(sizes: list[int], most: int) -> None:
    ranges = list(partition_ranges(np.array(sizes, np.int64), most))
    assert [partition for first, stop in ranges for partition in range(first, stop)] == list(range(len(sizes)))
    assert all(sum(sizes[first:stop]) <= most or stop == first + 1 for first, stop in ranges)
