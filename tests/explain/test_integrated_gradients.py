import torch

from explain.cases import make_case, over_variants
from sayso.explain.integrated_gradients import integrated_gradients, integrated_gradients_with_error
from sayso.model.extractor import ModelConfig


@over_variants
def test_the_error_is_that_of_the_sum_over_each_bag(config: ModelConfig) -> None:
    extractor, vector_ND, bags = make_case(config)
    score_NR, error_BR = integrated_gradients_with_error(extractor, vector_ND, bags)
    gain_BR = (extractor.classify(vector_ND, bags) - extractor.classify(torch.zeros_like(vector_ND), bags)).detach()
    sums = torch.stack([score_NR[bags.bag_N == b].sum(0) for b in range(bags.num_bags)])
    torch.testing.assert_close(sums - error_BR, gain_BR, atol=1e-12, rtol=1e-12)
    assert float(error_BR.abs().max()) < 0.02 * float(gain_BR.abs().max())


@over_variants
def test_more_steps_err_less(config: ModelConfig) -> None:
    case = make_case(config)
    few, many = (integrated_gradients_with_error(*case, num_steps=n).error_BR.abs().sum() for n in (2, 64))
    assert float(many) < 0.1 * float(few) + 1e-12


@over_variants
def test_equal_sentences_have_equal_scores(config: ModelConfig) -> None:
    score_NR = integrated_gradients(*make_case(config))
    torch.testing.assert_close(score_NR[1], score_NR[2])
