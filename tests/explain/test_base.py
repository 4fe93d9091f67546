import pytest
import torch

from explain.cases import make_case, over_variants
from explain.mean_aggregator import make_mean_case
from sayso.explain import EXPLAINERS
from sayso.explain.base import scores_from_autograd
from sayso.explain.gradient_x_input import gradient_x_input
from sayso.explain.saliency import saliency
from sayso.model.extractor import ModelConfig


@over_variants
def test_it_equals_the_closed_forms(config: ModelConfig) -> None:
    case = make_case(config)
    norm_NR = scores_from_autograd(*case, lambda _, slope_ND: slope_ND.abs().sum(1))
    torch.testing.assert_close(norm_NR, saliency(*case), atol=1e-9, rtol=1e-9)
    product_NR = scores_from_autograd(*case, lambda x_ND, slope_ND: (x_ND * slope_ND).sum(1))
    torch.testing.assert_close(product_NR, gradient_x_input(*case), atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("name", EXPLAINERS)
def test_every_explainer_works_for_an_aggregator_without_closed_form(name: str) -> None:
    extractor, vector_ND, bags = make_mean_case()
    with torch.no_grad():
        score_NR = EXPLAINERS[name].explain(extractor, vector_ND, bags)
    assert score_NR.shape == (len(vector_ND), 5)
    assert score_NR.isfinite().all()
    assert score_NR.any()
    assert not score_NR.requires_grad


def test_a_loss_on_its_scores_can_be_learned_from() -> None:
    extractor, vector_ND, bags = make_mean_case()
    gradient_x_input(extractor, vector_ND.requires_grad_(), bags).square().sum().backward()
    assert vector_ND.grad is not None
    assert vector_ND.grad.any()
    assert extractor.scorer.relation_RD.grad is not None
