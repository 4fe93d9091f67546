import pytest
import torch
from torch import Tensor

from gpu import DEVICE, distance, needs_gpu
from sayso.train.gpu.attention_loss import LabelledBags, attention_loss, fits_attention_loss

SIZES = {"small": [1, 3, 2, 7, 16, 17], "one of a thousand": [1000, 1], "of one sentence": [1] * 40}
WIDTH, NUM_RELATIONS = 40, 13


def plain_loss(parameters: list[Tensor], sizes: list[int], label_BR: Tensor, weight_B: Tensor) -> Tensor:
    vector_ND, diagonal_D, query_RD, relation_RD, bias_R = parameters
    loss = vector_ND.new_zeros(())
    for vector, label, weight in zip(vector_ND.split(sizes), label_BR, weight_B, strict=True):
        share = (vector @ (diagonal_D * query_RD).T).softmax(0)
        logit = (share * (vector @ relation_RD.T)).sum(0) + bias_R
        bce = torch.nn.functional.binary_cross_entropy_with_logits(logit, label, reduction="sum")
        loss = loss + weight * bce
    return loss


@needs_gpu
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("scale", [1.0, 6.0], ids=["even weights", "one sentence dominates"])
def test_loss_and_gradients_are_those_of_plain_torch_in_float64(sizes: list[int], scale: float) -> None:
    torch.set_float32_matmul_precision("highest")
    generator = torch.Generator().manual_seed(len(sizes))
    shapes = [(sum(sizes), WIDTH), (WIDTH,), (NUM_RELATIONS, WIDTH), (NUM_RELATIONS, WIDTH), (NUM_RELATIONS,)]
    drawn = [torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes]
    drawn[0] *= scale
    label_BR = (torch.rand(len(sizes), NUM_RELATIONS, generator=generator) < 0.2).double()
    weight_B = torch.full((len(sizes),), 1.0 / len(sizes), dtype=torch.float64)
    expected = [value.clone().requires_grad_() for value in drawn]
    plain = plain_loss(expected, sizes, label_BR, weight_B)
    plain.backward()
    found = [value.float().to(DEVICE).requires_grad_() for value in drawn]
    start_B1 = torch.tensor([0, *sizes]).cumsum(0).int().to(DEVICE)
    loss = attention_loss(*found, LabelledBags(start_B1, label_BR.float().to(DEVICE), weight_B.float().to(DEVICE)))
    loss.backward()
    assert distance(loss, plain) < 1e-5
    for one, other in zip(found, expected, strict=True):
        assert distance(one.grad, other.grad) < 3e-5


@needs_gpu
def test_bags_without_weight_have_no_effect_even_if_empty() -> None:
    vector_ND = torch.randn(30, WIDTH, device=DEVICE).requires_grad_()
    parameters = [torch.randn(*shape, device=DEVICE) for shape in ((WIDTH,), *[(NUM_RELATIONS, WIDTH)] * 2)]
    bias_R = torch.randn(NUM_RELATIONS, device=DEVICE)
    label_BR = torch.zeros(3, NUM_RELATIONS, device=DEVICE)
    start_B1 = torch.tensor([0, 5, 5, 30], dtype=torch.int32, device=DEVICE)
    weight_B = torch.tensor([1.0, 0.0, 0.0], device=DEVICE)
    loss = attention_loss(vector_ND, *parameters, bias_R, LabelledBags(start_B1, label_BR, weight_B))
    loss.backward()
    alone = LabelledBags(start_B1[:2], label_BR[:1], weight_B[:1])
    assert torch.isclose(loss, attention_loss(vector_ND[:5], *parameters, bias_R, alone), rtol=1e-5)
    assert vector_ND.grad[:5].abs().sum() > 0
    assert torch.equal(vector_ND.grad[5:], torch.zeros(25, WIDTH, device=DEVICE))


@needs_gpu
@pytest.mark.parametrize("where", range(5), ids=["vector", "diagonal", "query", "relation", "bias"])
def test_nan_anywhere_makes_the_loss_nan(where: int) -> None:
    shapes = [(9, WIDTH), (WIDTH,), (NUM_RELATIONS, WIDTH), (NUM_RELATIONS, WIDTH), (NUM_RELATIONS,)]
    drawn = [torch.randn(*shape, device=DEVICE) for shape in shapes]
    drawn[where].view(-1)[3] = torch.nan
    start_B1 = torch.tensor([0, 4, 9], dtype=torch.int32, device=DEVICE)
    bags = LabelledBags(start_B1, torch.zeros(2, NUM_RELATIONS, device=DEVICE), torch.ones(2, device=DEVICE))
    assert attention_loss(*drawn, bags).isnan()


def test_tables_that_are_too_large_are_left_to_torch() -> None:
    assert fits_attention_loss(53, 100)
    assert not fits_attention_loss(1000, 100)
