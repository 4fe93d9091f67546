import pytest
import torch

from gpu import DEVICE, needs_gpu
from sayso.model.layers import LEVELS
from sayso.train.gpu.dropped_rows import Draws, dropped_rows, keep_factors


def draws(device: str, count: int, rate: float) -> Draws:
    return Draws(torch.tensor([2**62 + 5], device=device), torch.tensor([count], device=device), round(rate * LEVELS))


def test_without_dropout_rows_are_those_of_the_table_and_zeros_beyond() -> None:
    table_VW, index_Y = torch.randn(9, 6), torch.tensor([3, 3, 0])
    rows = dropped_rows(table_VW, index_Y, torch.empty(3, 8), draws("cpu", 0, 0.0))
    assert torch.equal(rows, torch.nn.functional.pad(table_VW[index_Y], (0, 2)))
    assert torch.equal(keep_factors(4, draws("cpu", 0, 0.0)), torch.ones(4))


@needs_gpu
def test_what_is_kept_is_scaled_up_and_the_share_that_is_dropped_is_the_rate() -> None:
    table_VW = torch.randn(50, 300, device=DEVICE)
    index_Y = torch.randint(0, 50, (1000,), dtype=torch.int32, device=DEVICE)
    drawn = draws(DEVICE, 3, 0.1)
    rows = dropped_rows(table_VW, index_Y, torch.empty(1000, 304, device=DEVICE), drawn)
    is_kept = rows[:, :300] != 0.0
    assert float(is_kept.float().mean()) == pytest.approx(0.9, abs=0.005)
    torch.testing.assert_close(rows[:, :300][is_kept], (table_VW[index_Y.long()] * drawn.scale)[is_kept])
    assert not rows[:, 300:].any()
    # Neither rows nor columns drop together.
    assert is_kept.float().mean(0).std() < 0.02
    assert is_kept.float().mean(1).std() < 0.03


@needs_gpu
def test_the_same_count_draws_the_same_and_another_does_not() -> None:
    first, again, other = (keep_factors(5000, draws(DEVICE, count, 0.5)) for count in (7, 7, 8))
    assert torch.equal(first, again)
    assert 0.4 < float((first != other).float().mean()) < 0.6
