import resource
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso import memory
from sayso.errors import UserError
from sayso.memory import DiskShuffle, available_bytes, refuse_beyond_memory, slices, slices_by_cost


def test_what_is_available_is_bounded_by_every_limit(tmp_path, monkeypatch) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:   2000 kB\n")
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_LIMITS", (tmp_path / "limit", tmp_path / "missing"))
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    assert available_bytes() == 2_048_000
    (tmp_path / "limit").write_text("max\n")
    assert available_bytes() == 2_048_000
    (tmp_path / "limit").write_text("1000000\n")
    assert available_bytes() == 1_000_000
    monkeypatch.setattr(resource, "getrlimit", lambda _: (5_000, 5_000))
    assert available_bytes() == 5_000


def test_without_a_table_of_memory_it_is_all_that_the_machine_has(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "missing")
    assert available_bytes() > 0


def test_what_does_not_fit_is_refused_with_both_sizes_and_a_remedy() -> None:
    refuse_beyond_memory(10**9, "a table needs", "make it smaller", available=10**9)
    message = r"^a table needs about 2\.0 GB of memory, but 1\.0 GB is available: make it smaller$"
    with pytest.raises(UserError, match=message):
        refuse_beyond_memory(2 * 10**9, "a table needs", "make it smaller", available=10**9)


@given(st.integers(0, 40), st.integers(1, 9))
def test_slices_cover_everything_in_order(num: int, at_a_time: int) -> None:
    parts = [range(num)[part] for part in slices(num, at_a_time)]
    assert list(chain(*parts)) == list(range(num))
    assert all(1 <= len(part) <= at_a_time for part in parts)


@given(st.lists(st.integers(0, 9)), st.integers(1, 12))
def test_slices_by_cost_keep_the_limit_unless_one_item_exceeds_it(cost: list[int], limit: int) -> None:
    parts = [cost[part] for part in slices_by_cost(cost, limit)]
    assert list(chain(*parts)) == cost
    assert all(part and (len(part) == 1 or sum(part) <= limit) for part in parts)


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
        assert shuffle.take("number", slice(partition, partition + 1)).tolist() == numbers
        assert shuffle.take("pair", slice(partition, partition + 1)).tolist() == [[n, -n] for n in numbers]
    assert shuffle.size_K("number").tolist() == [len(numbers) for numbers in expected]
