import pytest
import torch

from gpu import DEVICE, distance, needs_gpu
from sayso.model.layers import LEVELS
from sayso.train.gpu.encoder_kernels import Draws, distance_gradients, dropped_rows, keep_factors, projected


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


@needs_gpu
def test_the_layer_and_its_gradients_are_those_of_plain_torch_in_float64() -> None:
    torch.set_float32_matmul_precision("highest")
    generator = torch.Generator().manual_seed(1)
    for num_sentences, num_filters, width in ((37, 150, 40), (1, 12, 8), (300, 400, 100)):
        shapes = [(num_sentences, num_filters), (num_filters,), (width, num_filters), (width,)]
        drawn = [torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes]
        # A sentence without windows.
        drawn[0][0] = -torch.inf
        expected = [value.clone().requires_grad_() for value in drawn]
        found = [value.float().to(DEVICE).requires_grad_() for value in drawn]
        peak_SF, bias_F, weight_DF, bias_D = expected
        plain = ((peak_SF + bias_F).relu() @ weight_DF.T + bias_D).relu()
        vector = projected(*found)
        grad = torch.randn(plain.shape, generator=generator, dtype=torch.float64)
        plain.backward(grad)
        vector.backward(grad.float().to(DEVICE))
        assert distance(vector, plain) < 1e-5
        for one, other in zip(found, expected, strict=True):
            assert distance(one.grad, other.grad) < 3e-5


@needs_gpu
def test_nan_in_a_sentence_or_a_bias_is_not_hidden() -> None:
    drawn = [torch.randn(*shape, device=DEVICE) for shape in ((3, 12), (12,), (8, 12), (8,))]
    peak_SF, bias_D = drawn[0], drawn[-1]
    peak_SF[1, 4] = torch.nan
    assert projected(*drawn).isnan().any(1).tolist() == [False, True, False]
    peak_SF[1, 4], bias_D[2] = 0.0, torch.nan
    assert projected(*drawn).isnan().any(0).tolist() == [column == 2 for column in range(8)]


def case(width: int) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(width)
    shapes = ((61, 140), (61, 140), (2, 61, width), (140, 20 + 2 * width))
    return tuple(torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes)


def test_the_gradients_are_those_of_the_products() -> None:
    head_QA, tail_QA, table_2QP, weight_AD = case(3)
    table_2QP.requires_grad_()
    weight_AD.requires_grad_()
    head, tail = table_2QP[0] @ weight_AD[:, 20:23].T, table_2QP[1] @ weight_AD[:, 23:].T
    ((head * head_QA).sum() + (tail * tail_QA).sum()).backward()
    table, (head_AP, tail_AP) = distance_gradients(head_QA, tail_QA, table_2QP.detach(), weight_AD.detach())
    torch.testing.assert_close(table, table_2QP.grad)
    torch.testing.assert_close(torch.cat([head_AP, tail_AP], 1), weight_AD.grad[:, 20:])


@needs_gpu
def test_the_kernel_finds_the_same() -> None:
    for width in (5, 16, 40):
        values = case(width)
        expected = distance_gradients(*values)
        found = distance_gradients(*(value.float().to(DEVICE) for value in values))
        assert distance(found[0], expected[0]) < 1e-5
        assert distance(found[1][0], expected[1][0]) < 1e-5
        assert distance(found[1][1], expected[1][1]) < 1e-5
