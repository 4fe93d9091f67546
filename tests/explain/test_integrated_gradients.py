import torch

from explain.cases import gain_over_zero, integration_error, make_case, over_variants
from sayso.explain.integrated_gradients import integrated_gradients
from sayso.model.extractor import ModelConfig


@over_variants
def test_a_bags_scores_sum_to_the_gain_over_zero_vectors(config: ModelConfig) -> None:
    case = make_case(config)
    assert float(integration_error(case).max()) < 0.02 * float(gain_over_zero(case).abs().max())


@over_variants
def test_more_steps_err_less(config: ModelConfig) -> None:
    case = make_case(config)
    few, many = (integration_error(case, num_steps=n).sum() for n in (2, 64))
    assert float(many) < 0.1 * float(few) + 1e-12


@over_variants
def test_equal_sentences_have_equal_scores(config: ModelConfig) -> None:
    score_NR = integrated_gradients(*make_case(config))
    torch.testing.assert_close(score_NR[1], score_NR[2])
