import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from explain.cases import gradients, in_float32, make_case, over_gaps, over_variants, widen_gaps
from model.variants import VARIANTS
from sayso.explain import saliency as module
from sayso.explain.saliency import saliency
from sayso.model.extractor import ModelConfig


@over_variants
def test_it_equals_automatic_differentiation(config: ModelConfig) -> None:
    case = make_case(config)
    torch.testing.assert_close(saliency(*case), gradients(*case).abs().sum(2), atol=1e-9, rtol=1e-9)


@settings(max_examples=20)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=5), st.integers(0, 1000), st.sampled_from([*VARIANTS]))
def test_it_equals_automatic_differentiation_for_any_bags(sizes: list[int], seed: int, name: str) -> None:
    # Without equal sentences: their tie is exact only where rounding does not depend on a sentence's row.
    case = make_case(VARIANTS[name], sizes, seed, ties=False)
    torch.testing.assert_close(saliency(*case), gradients(*case).abs().sum(2), atol=1e-9, rtol=1e-9)


@over_variants
def test_sentences_one_at_a_time_give_the_same(config: ModelConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    case = make_case(config)
    at_once = saliency(*case)
    monkeypatch.setattr(module, "VALUES_AT_A_TIME", 1)
    torch.testing.assert_close(saliency(*case), at_once)


@over_gaps
@over_variants
def test_wide_gaps_between_scores_stay_finite_and_right_in_float32(config: ModelConfig, gap: float) -> None:
    case = widen_gaps(make_case(config, ties=False), gap)
    expected = gradients(*case).abs().sum(2)
    score_NR = saliency(*in_float32(case)).double()
    torch.testing.assert_close(score_NR, expected, atol=1e-6 * float(expected.max()), rtol=1e-3)


def test_a_loss_on_it_can_be_learned_from() -> None:
    extractor, vector_ND, bags = make_case(VARIANTS["attention+E"])
    saliency(extractor, vector_ND.requires_grad_(), bags).sum().backward()
    assert vector_ND.grad is not None
    assert vector_ND.grad.any()
