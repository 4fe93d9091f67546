import pytest
import torch
from torch import Tensor, nn

from sayso.model import pretrained
from sayso.model.kernels.encoder_layers import HalfPrecision, allow_only_needed, only_needed
from sayso.model.pretrained import quantized
from toy_encoder import KINDS, WIDTH, toy_pretrained

STATE_CLH = torch.randn(3, 8, WIDTH, generator=torch.Generator().manual_seed(1))
PLACE_W = torch.tensor([0, 5, 5, 17])


def network_of(kind: str) -> nn.Module:
    torch.manual_seed(0)
    return toy_pretrained(1, 1, kind).build(range(1, 3)).eval()


def read(network: nn.Module, place_W: Tensor | None = None) -> Tensor:
    is_there_CL = torch.ones(3, 8, dtype=torch.bool)
    is_there_CL[1, 5:] = False
    with only_needed(place_W):
        state: Tensor = network(inputs_embeds=STATE_CLH, attention_mask=is_there_CL).last_hidden_state
    return state


@pytest.mark.parametrize("kind", KINDS)
def test_the_needed_rows_are_those_of_the_whole_output(kind: str) -> None:
    network = network_of(kind)
    whole_CLH = read(network)
    allow_only_needed(network)
    assert read(network).equal(whole_CLH)
    found = read(network, PLACE_W)
    if kind in ("bert", "roberta", "electra"):
        torch.testing.assert_close(found, whole_CLH.flatten(0, 1)[PLACE_W])
    else:
        assert found.equal(whole_CLH)


@pytest.mark.skipif(not torch.cpu._is_vnni_supported(), reason="this processor has no VNNI instructions")
@torch.no_grad()
def test_all_eight_bits_are_closer_than_seven(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    linear, value = nn.Sequential(nn.Linear(64, 64)), torch.randn(200, 64)
    with_all = quantized(linear)(value)
    monkeypatch.setattr(pretrained, "use_all_bits", lambda network: None)
    errors = [float((found - linear(value)).square().mean()) for found in (with_all, quantized(linear)(value))]
    assert 0 < errors[0] < 0.6 * errors[1]


def test_gradients_of_needed_rows_are_those_of_the_whole_output() -> None:
    network = network_of("bert")
    parameters = [each for each in network.parameters() if each.requires_grad]
    whole = torch.autograd.grad(read(network).flatten(0, 1)[PLACE_W].square().sum(), parameters, allow_unused=True)
    allow_only_needed(network)
    found = torch.autograd.grad(read(network, PLACE_W).square().sum(), parameters, allow_unused=True)
    for one, other in zip(found, whole, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_a_copy_in_half_precision_stays_close_and_follows_the_parameters(kind: str) -> None:
    network, half = network_of(kind), HalfPrecision()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    for _ in range(2):
        copied = half.copy(network)
        assert half.copy(network) is copied
        found = copied(inputs_embeds=STATE_CLH.bfloat16()).last_hidden_state
        assert found.dtype == torch.bfloat16
        torch.testing.assert_close(
            found.float(), network(inputs_embeds=STATE_CLH).last_hidden_state, atol=0.1, rtol=0.1
        )
        assert all(value.equal(before[name]) for name, value in network.state_dict().items())
        for name, parameter in network.named_parameters():
            before[name] = parameter.mul_(1.5).clone()
