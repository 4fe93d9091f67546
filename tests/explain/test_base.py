import numpy as np
import pytest
import torch

from explain.cases import make_case, over_variants, plain_value
from explain.mean_aggregator import make_mean_case
from sayso.explain import EXPLAINERS
from sayso.explain.base import scores_from_autograd, sub_bag_logits
from sayso.explain.gradient_x_input import gradient_x_input
from sayso.explain.saliency import saliency
from sayso.model.extractor import ModelConfig
from sayso.store.rows import Rows


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


@over_variants
def test_logits_are_those_of_the_bag_made_of_these_sentences(config: ModelConfig) -> None:
    extractor, vector_ND, bags = make_case(config)
    # Sentences 1 to 4 are bag 1, 6 to 12 bag 3; the second and the last part are empty.
    parts = [([4, 2], 1), ([], 3), ([6], 3), ([12, 8, 7], 3), ([], 0)]
    sentences = Rows.of_lengths(
        np.array([row for rows, _ in parts for row in rows]), np.array([len(rows) for rows, _ in parts])
    )
    found = sub_bag_logits(extractor, vector_ND, bags, np.array([bag for _, bag in parts]), sentences)
    expected = torch.stack([plain_value(extractor, vector_ND[rows], bags, bag) for rows, bag in parts])
    torch.testing.assert_close(found.detach(), expected, atol=1e-12, rtol=1e-12)
