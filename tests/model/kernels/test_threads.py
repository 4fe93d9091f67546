import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest
import torch

from sayso.model.kernels.threads import (
    compiled_only,
    in_threads,
    is_compiled,
    over_bags,
    over_items,
    over_items_with_gradients,
    shares,
)
from toy_batch import make_bags, torch_threads


@pytest.fixture(autouse=True)
def three_threads():
    with torch_threads(3):
        yield


def test_results_come_in_the_order_of_the_calls() -> None:
    assert in_threads(lambda a, b: a * b, [(2, 3), (4, 5), (6, 7)]) == [6, 20, 42]
    assert in_threads(lambda: 1, []) == []


def test_shares_cover_everything_once() -> None:
    assert shares(7) == [(0, 2), (2, 4), (4, 7)]
    assert shares(1) == [(0, 1)]
    assert shares(0) == []


def test_torch_has_one_thread_while_compiled_functions_have_the_others() -> None:
    with compiled_only():
        assert torch.get_num_threads() == 1
        assert len(shares(9)) == 3
        with compiled_only():
            assert len(shares(9)) == 3
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 3


def test_overlapping_blocks_restore_torchs_threads() -> None:
    everybody_is_in = Barrier(4)

    def enter() -> int:
        with compiled_only():
            everybody_is_in.wait(30)
            return len(shares(9))

    with ThreadPoolExecutor(4) as pool:
        assert [future.result() for future in [pool.submit(enter) for _ in range(4)]] == [3] * 4
    assert torch.get_num_threads() == 3


def test_compiled_functions_are_used_on_cpu_without_gradients_only() -> None:
    with torch.no_grad():
        assert is_compiled(torch.device("cpu"))
        assert not is_compiled(torch.device("cuda"))
    assert not is_compiled(torch.device("cpu"))


def test_every_bag_is_visited_once() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    turns_B, size_B = torch.zeros(3, dtype=torch.int64), torch.zeros(3, dtype=torch.int64)

    def count(turns, sizes, start, first, stop) -> None:
        for bag in range(first, stop):
            turns[bag] += 1
            sizes[bag] = start[bag + 1] - start[bag]

    over_bags(count, make_bags([2, 0, 5]), turns_B, size_B)
    torch.set_num_threads(before)
    assert turns_B.tolist() == [1, 1, 1]
    assert size_B.tolist() == [2, 0, 5]


def test_items_are_divided_among_threads_and_results_keep_their_order() -> None:
    everybody_is_in = Barrier(3)

    def square(number: int) -> tuple[int, int, bool]:
        everybody_is_in.wait(30)
        return number**2, torch.get_num_threads(), torch.is_grad_enabled()

    assert over_items(square, range(6)) == [(number**2, 1, False) for number in range(6)]
    assert torch.get_num_threads() == 3
    assert over_items(square, []) == []


def test_after_an_error_the_other_threads_take_no_more_items() -> None:
    begun, has_failed = [], Event()

    def fail_at_first(number: int) -> None:
        begun.append(number)
        if not number:
            has_failed.set()
            raise ValueError("the first")
        has_failed.wait(30)
        time.sleep(0.01)

    with pytest.raises(ValueError, match="the first"):
        over_items(fail_at_first, range(1_000))
    time.sleep(0.1)
    num_begun = len(begun)
    time.sleep(0.1)
    assert len(begun) == num_begun < 1_000


def test_gradients_are_those_of_one_thread_and_reach_the_inputs() -> None:
    given = torch.tensor([1.5, -2.0, 3.25], dtype=torch.float64).requires_grad_()
    unused = torch.ones(2, requires_grad=True)
    leaf = given.detach().float().requires_grad_()
    weight = torch.arange(1.0, 6.0)

    def weighted_square(number: int) -> torch.Tensor:
        return weight[number] * leaf**2

    found = over_items_with_gradients(weighted_square, range(5), [given, unused], [leaf, unused])
    torch.testing.assert_close(torch.stack(found), weight[:, None] * given.detach().float() ** 2)
    change, nothing = torch.autograd.grad(torch.stack(found).sum(), [given, unused], allow_unused=True)
    assert change.tolist() == (2 * 15 * given).tolist()
    assert nothing is None
    assert over_items_with_gradients(weighted_square, [], [given], [leaf]) == []
    assert torch.get_num_threads() == 3
