from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import torch

from sayso.model.kernels.threads import compiled_only, in_threads, shares


@pytest.fixture(autouse=True)
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def test_results_come_in_the_order_of_the_calls() -> None:
    assert in_threads(lambda a, b: a * b, [(2, 3), (4, 5), (6, 7)]) == [6, 20, 42]
    assert in_threads(lambda: 1, []) == []


def test_shares_cover_everything_once() -> None:
    assert shares(7) == [(0, 2), (2, 4), (4, 7)]
    assert shares(1) == [(0, 1)]
    assert shares(0) == []


def test_torch_works_alone_while_compiled_functions_have_the_threads() -> None:
    with compiled_only():
        assert torch.get_num_threads() == 1
        assert len(shares(9)) == 3
        with compiled_only():
            assert len(shares(9)) == 3
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 3


def test_several_threads_leave_torch_as_it_was() -> None:
    everybody_is_in = Barrier(4)

    def enter() -> int:
        with compiled_only():
            everybody_is_in.wait(30)
            return len(shares(9))

    with ThreadPoolExecutor(4) as pool:
        assert [future.result() for future in [pool.submit(enter) for _ in range(4)]] == [3] * 4
    assert torch.get_num_threads() == 3
