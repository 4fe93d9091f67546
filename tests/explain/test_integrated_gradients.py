import torch
from torch import Tensor

from explain.cases import Case, make_case, over_variants
from sayso.explain.integrated_gradients import integrated_gradients
from sayso.model.extractor import ModelConfig


def gain_of(case: Case) -> Tensor:
    """Return how much higher each logit is than with zero vectors."""
    extractor, vector_ND, bags = case
    return (extractor.classify(vector_ND, bags) - extractor.classify(torch.zeros_like(vector_ND), bags)).detach()


def error_of(case: Case, **settings: int) -> Tensor:
    """Return how far the sum of each bag's scores is from the gain, in absolute terms."""
    score_NR, bags = integrated_gradients(*case, **settings), case[2]
    return (torch.stack([score_NR[bags.bag_N == b].sum(0) for b in range(bags.num_bags)]) - gain_of(case)).abs()


@over_variants
def test_a_bags_scores_sum_to_the_gain_over_zero_vectors(config: ModelConfig) -> None:
    case = make_case(config)
    assert float(error_of(case).max()) < 0.02 * float(gain_of(case).abs().max())


@over_variants
def test_more_steps_err_less(config: ModelConfig) -> None:
    case = make_case(config)
    few, many = (error_of(case, num_steps=n).sum() for n in (2, 64))
    assert float(many) < 0.1 * float(few) + 1e-12


@over_variants
def test_equal_sentences_have_equal_scores(config: ModelConfig) -> None:
    score_NR = integrated_gradients(*make_case(config))
    torch.testing.assert_close(score_NR[1], score_NR[2])
