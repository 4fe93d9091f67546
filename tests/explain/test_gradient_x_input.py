import torch
from torch import Tensor

from explain import cases
from explain.cases import Case, over_gaps, over_variants, widen_gaps
from model.plain import plain_logits
from sayso.explain.gradient_x_input import gradient_x_input
from sayso.features.batch import BagIndex
from sayso.model.extractor import Extractor, ModelConfig


def make_case(config: ModelConfig, ties: bool = True) -> Case:
    extractor, vector_ND, bags = cases.make_case(config, ties=ties)
    return extractor, vector_ND.requires_grad_(), bags


def by_autograd(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Tensor:
    """The definition: Σ_d x_nd ∂o_k/∂x_nd, one backward pass per relation, itself differentiable."""
    logit_BR = plain_logits(extractor, vector_ND, bags)
    scores = []
    for k in range(logit_BR.shape[1]):
        (gradient_ND,) = torch.autograd.grad(logit_BR[:, k].sum(), vector_ND, create_graph=True)
        scores.append((vector_ND * gradient_ND).sum(1))
    return torch.stack(scores, 1)


@over_variants
def test_it_equals_automatic_differentiation(config: ModelConfig) -> None:
    case = make_case(config)
    torch.testing.assert_close(gradient_x_input(*case), by_autograd(*case), atol=1e-9, rtol=1e-9)


@over_variants
def test_all_zero_vectors_have_the_score_zero(config: ModelConfig) -> None:
    extractor, vector_ND, bags = make_case(config)
    zero_ND = torch.zeros_like(vector_ND, requires_grad=True)
    assert gradient_x_input(extractor, zero_ND, bags).abs().max() == 0
    assert by_autograd(extractor, zero_ND, bags).abs().max() == 0


@over_variants
def test_its_own_gradient_equals_differentiating_twice(config: ModelConfig) -> None:
    extractor, vector_ND, bags = make_case(config)
    learned = [vector_ND, *extractor.aggregator.parameters(), *extractor.scorer.parameters()]
    factor_NR = torch.randn(len(vector_ND), 5, dtype=torch.float64, generator=torch.Generator().manual_seed(7))

    def gradients(score_NR: Tensor) -> list[Tensor]:
        found = torch.autograd.grad((score_NR * factor_NR).sum(), learned, allow_unused=True)
        return [torch.zeros_like(p) if g is None else g for g, p in zip(found, learned, strict=True)]

    closed = gradients(gradient_x_input(extractor, vector_ND, bags))
    twice = gradients(by_autograd(extractor, vector_ND, bags))
    for a, b in zip(closed, twice, strict=True):
        torch.testing.assert_close(a, b, atol=1e-9, rtol=1e-9)
    assert sum(bool(g.any()) for g in closed) >= 4


@over_gaps
@over_variants
def test_wide_gaps_between_scores_stay_finite_and_right_in_float32(config: ModelConfig, gap: float) -> None:
    extractor, vector_ND, bags = widen_gaps(make_case(config, ties=False), gap)
    exact = by_autograd(extractor, vector_ND, bags).detach()
    single = vector_ND.detach().float().requires_grad_()
    score_NR = gradient_x_input(extractor.float(), single, bags)
    torch.testing.assert_close(score_NR.double(), exact, atol=1e-3, rtol=1e-3)
    score_NR.square().sum().backward()
    assert single.grad is not None
    assert single.grad.isfinite().all()
