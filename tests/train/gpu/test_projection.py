import torch

from gpu import DEVICE, distance, needs_gpu
from sayso.train.gpu.projection import projected


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
