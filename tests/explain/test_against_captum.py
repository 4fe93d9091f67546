"""Comparison with another library's attributions of the same logits, one bag at a time."""

import pytest
import torch
from captum.attr import FeatureAblation, InputXGradient, IntegratedGradients, Saliency, ShapleyValues
from torch import Tensor

from explain.cases import make_case, plain_value
from model.plain import plain_bag_logits
from model.variants import VARIANTS
from sayso.explain import EXPLAINERS
from sayso.model.extractor import Extractor

SIZE = 4
over_names = pytest.mark.parametrize("name", VARIANTS)


class OneBag:
    """A bag's logits as functions of its vectors, and of a mask of the sentences present."""

    def __init__(self, name: str) -> None:
        self.extractor: Extractor
        self.extractor, self.vector_LD, self.bags = make_case(VARIANTS[name], [SIZE])
        self.mask_1L = torch.ones(1, SIZE, dtype=torch.float64)

    def of_vectors(self, vector_XLD: Tensor) -> Tensor:
        return torch.stack([plain_bag_logits(self.extractor, one, self.bags, 0) for one in vector_XLD])

    def of_masks(self, mask_XL: Tensor) -> Tensor:
        return torch.stack([plain_value(self.extractor, self.vector_LD[mask > 0], self.bags, 0) for mask in mask_XL])

    def explained(self, mechanism: str) -> Tensor:
        return EXPLAINERS[mechanism].explain(self.extractor, self.vector_LD, self.bags).detach()


@over_names
@pytest.mark.parametrize("method", [Saliency, InputXGradient])
def test_gradients_agree(name: str, method: type) -> None:
    bag = OneBag(name)
    mechanism = "saliency" if method is Saliency else "gradient_x_input"
    input_1LD = bag.vector_LD[None].requires_grad_()
    found = [method(bag.of_vectors).attribute(input_1LD, target=k)[0].sum(1) for k in range(5)]
    torch.testing.assert_close(bag.explained(mechanism), torch.stack(found, 1).detach(), atol=1e-9, rtol=1e-9)


@over_names
def test_leaving_one_out_is_ablation_of_the_bags_mask(name: str) -> None:
    bag = OneBag(name)
    found = [FeatureAblation(bag.of_masks).attribute(bag.mask_1L, target=k)[0] for k in range(5)]
    torch.testing.assert_close(bag.explained("leave_one_out"), torch.stack(found, 1), atol=1e-9, rtol=1e-9)


@over_names
def test_shapley_values_agree(name: str) -> None:
    bag = OneBag(name)
    found = [ShapleyValues(bag.of_masks).attribute(bag.mask_1L, target=k)[0] for k in range(5)]
    # Captum adds them up in float32.
    torch.testing.assert_close(bag.explained("shapley").float(), torch.stack(found, 1), atol=1e-6, rtol=1e-5)


@over_names
def test_integrals_agree(name: str) -> None:
    bag = OneBag(name)
    method = IntegratedGradients(bag.of_vectors)
    found = [
        method.attribute(bag.vector_LD[None], target=k, n_steps=32, method="riemann_middle")[0].sum(1) for k in range(5)
    ]
    torch.testing.assert_close(bag.explained("integrated_gradients"), torch.stack(found, 1), atol=1e-9, rtol=1e-9)
