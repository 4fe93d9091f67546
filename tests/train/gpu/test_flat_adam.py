import torch
from torch import nn

from gpu import DEVICE, needs_gpu
from sayso.train.gpu.flat_adam import FlatAdam


def parameters() -> list[nn.Parameter]:
    generator = torch.Generator().manual_seed(1)
    return [nn.Parameter(torch.randn(*shape, generator=generator).to(DEVICE)) for shape in ((3, 4), (700, 2), (0, 5))]


@needs_gpu
def test_steps_are_those_of_torch_with_clipping_also_after_others_were_taken() -> None:
    plain, flat = parameters(), parameters()
    optimizers = [torch.optim.Adam(values, lr=1e-2) for values in (plain, flat)]

    def take_plain(values: list[nn.Parameter], optimizer: torch.optim.Adam, scale: float) -> torch.Tensor:
        generator = torch.Generator().manual_seed(int(100 * scale))
        for parameter in values:
            parameter.grad = scale * torch.randn(parameter.shape, generator=generator).to(DEVICE)
        norm = nn.utils.clip_grad_norm_(values, 2.0)
        optimizer.step()
        return norm

    for values, optimizer in zip((plain, flat), optimizers, strict=True):
        take_plain(values, optimizer, 0.5)
    adam = FlatAdam(optimizers[1], flat, 2.0)
    norm_U = torch.zeros(3, device=DEVICE)
    for number, scale in enumerate((1.0, 0.01, 3.0)):
        generator = torch.Generator().manual_seed(int(100 * scale))
        gradients = [scale * torch.randn(p.shape, generator=generator).to(DEVICE) for p in flat]
        adam.step(gradients, torch.tensor([number], device=DEVICE), norm_U)
        norm = take_plain(plain, optimizers[0], scale)
        torch.testing.assert_close(norm_U[number], norm, rtol=1e-5, atol=0.0)
        for one, other in zip(flat, plain, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)
    adam.note_steps(3)
    states = [optimizer.state[values[1]] for values, optimizer in zip((plain, flat), optimizers, strict=True)]
    assert float(states[0]["step"]) == float(states[1]["step"]) == 4.0
    torch.testing.assert_close(states[1]["exp_avg_sq"], states[0]["exp_avg_sq"], rtol=1e-5, atol=1e-9)
