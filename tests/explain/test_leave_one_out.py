import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from explain.cases import in_float32, losses_by_removal, make_case, over_gaps, over_variants, widen_gaps
from model.variants import VARIANTS
from sayso.explain import leave_one_out as module
from sayso.explain.base import empty_bag_logits
from sayso.explain.leave_one_out import leave_one_out, leave_one_out_by_removal
from sayso.model.extractor import ModelConfig


@over_variants
def test_it_equals_removal(config: ModelConfig) -> None:
    case = make_case(config)
    torch.testing.assert_close(leave_one_out(*case), losses_by_removal(*case), atol=1e-9, rtol=1e-9)


@settings(max_examples=20)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=5), st.integers(0, 1000), st.sampled_from([*VARIANTS]))
def test_it_equals_removal_for_any_bags(sizes: list[int], seed: int, name: str) -> None:
    case = make_case(VARIANTS[name], sizes, seed)
    torch.testing.assert_close(leave_one_out(*case), losses_by_removal(*case), atol=1e-9, rtol=1e-9)


@over_variants
def test_without_its_only_sentence_a_bag_keeps_the_entity_terms(config: ModelConfig) -> None:
    extractor, vector_ND, bags = make_case(config, [1, 1])
    gain_BR = extractor.classify(vector_ND, bags) - empty_bag_logits(extractor, bags)
    torch.testing.assert_close(leave_one_out(extractor, vector_ND, bags), gain_BR.detach(), atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("name", ["direct", "direct+E", "attention", "attention+E"])
def test_one_of_two_equal_sentences_can_be_removed(name: str) -> None:
    extractor, vector_ND, bags = make_case(VARIANTS[name], [2])
    score_NR = leave_one_out(extractor, vector_ND, bags)
    torch.testing.assert_close(score_NR, torch.zeros_like(score_NR), atol=1e-12, rtol=0)


def test_plain_torch_one_sentence_at_a_time_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    extractor, vector_ND, bags = make_case(VARIANTS["attention+E"])
    monkeypatch.setattr(module, "VALUES_AT_A_TIME", 1)
    with torch.no_grad():
        entity = extractor.scorer.entity
        removal = module.removal_of(extractor.aggregator.own_score(vector_ND, extractor.scorer), bags)
        projected = entity.project_text(vector_ND), entity.project_pair(bags), extractor.scorer.relation_RD
        score_NR = module.plain_removal_losses(removal, *projected, bags)
    torch.testing.assert_close(score_NR, leave_one_out(extractor, vector_ND, bags), atol=1e-9, rtol=1e-9)


@over_gaps
@over_variants
def test_wide_gaps_between_scores_stay_finite_and_right_in_float32(config: ModelConfig, gap: float) -> None:
    case = widen_gaps(make_case(config, ties=False), gap)
    expected = losses_by_removal(*case)
    score_NR = leave_one_out(*in_float32(case)).double()
    torch.testing.assert_close(score_NR, expected, atol=1e-6 * float(expected.abs().max()), rtol=1e-3)


@pytest.mark.parametrize("name", ["attention", "attention+E"])
def test_a_sentence_with_hardly_any_weight_has_an_exact_score_in_float32(name: str) -> None:
    # Its score, about 1e-8 of the logit, drowns in the rounding of a plain difference of two logits.
    case = widen_gaps(make_case(VARIANTS[name], [3], ties=False), 20.0)
    expected = losses_by_removal(*case)
    is_small_NR = (expected.abs() > 1e-12) & (expected.abs() < 1e-5)
    assert is_small_NR.any()
    score_NR = leave_one_out(*in_float32(case)).double()
    torch.testing.assert_close(score_NR[is_small_NR], expected[is_small_NR], atol=0, rtol=1e-3)


@over_variants
def test_it_equals_removal_sentence_by_sentence(config: ModelConfig) -> None:
    case = make_case(config)
    torch.testing.assert_close(leave_one_out_by_removal(*case), losses_by_removal(*case), atol=1e-9, rtol=1e-9)


@over_variants
def test_one_removal_at_a_time_gives_the_same(config: ModelConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    case = make_case(config)
    at_once = leave_one_out_by_removal(*case)
    monkeypatch.setattr(module, "SENTENCES_AT_A_TIME", 1)
    torch.testing.assert_close(leave_one_out_by_removal(*case), at_once)
