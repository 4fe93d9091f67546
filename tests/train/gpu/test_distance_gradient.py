import torch

from gpu import DEVICE, distance, needs_gpu
from sayso.train.gpu.distance_gradient import distance_gradients


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
