import pytest
import torch
from torch import Tensor, nn

from gpu import DEVICE, distance, needs_gpu
from sayso.model.kernels.packed_attention import attend, packed_attention

LENGTHS = [5, 0, 65, 1, 129, 64, 30, 0]


def inputs_of(width: int, device: str, dtype: torch.dtype) -> tuple[list[Tensor], Tensor]:
    """Return queries, keys, values and a gradient, each a view of a larger matrix, and the starts of the sentences."""
    num, heads = sum(LENGTHS), 3
    generator = torch.Generator().manual_seed(width)
    whole = torch.randn(num, 4 * heads * width, generator=generator, dtype=torch.float64)
    start = torch.tensor([0, *LENGTHS]).cumsum(0).int()
    parts = [part.reshape(num, heads, width).to(device, dtype) for part in whole.split(heads * width, 1)]
    return parts, start.to(device)


def one_by_one(query: Tensor, key: Tensor, value: Tensor, start: Tensor, scale: float) -> Tensor:
    """Return plain attention, sentence by sentence."""
    pieces = []
    for first, stop in zip(start[:-1].tolist(), start[1:].tolist(), strict=True):
        score = torch.einsum("uhd,vhd->huv", query[first:stop], key[first:stop]) * scale
        pieces.append(torch.einsum("huv,vhd->uhd", score.softmax(2), value[first:stop]))
    return torch.cat(pieces)


def gradients(mixed: Tensor, inputs: list[Tensor], gradient: Tensor) -> list[Tensor]:
    return [mixed, *torch.autograd.grad(mixed, inputs, gradient)]


@needs_gpu
@pytest.mark.parametrize("width", [16, 32, 64, 128])
def test_attention_and_its_gradients_are_those_of_each_sentence_alone(width: int) -> None:
    (*rounded, gradient), start = inputs_of(width, DEVICE, torch.bfloat16)
    exact = [each.double().cpu().requires_grad_() for each in rounded]
    expected = gradients(one_by_one(*exact, start.cpu(), 0.3), exact, gradient.double().cpu())
    inputs = [each.requires_grad_() for each in rounded]
    found = gradients(attend(*inputs, start, 130, 0.3), inputs, gradient)
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.dtype == torch.bfloat16
        assert distance(mine, theirs) < 0.01


def as_transformers_gives_it(rows: Tensor) -> Tensor:
    return rows.transpose(0, 1)[None]


def test_without_a_gpu_the_same_is_computed_sentence_by_sentence() -> None:
    (query, key, value, _), start = inputs_of(16, "cpu", torch.float64)
    expected = one_by_one(query, key, value, start, 0.25)
    given = [as_transformers_gives_it(each) for each in (query, key, value)]
    lengths = {"cu_seq_lens_q": start, "max_length_q": 130}
    found, weights = packed_attention(nn.Identity(), *given, None, scaling=0.25, dropout=0.0, **lengths)
    assert weights is None
    torch.testing.assert_close(found[0], expected)
    # By default, scores are divided by the square root of the width of a head.
    torch.testing.assert_close(packed_attention(nn.Identity(), *given, None, **lengths)[0][0], expected)
