import torch

from explain.cases import Case, make_case, over_variants
from model.plain import plain_representation
from model.variants import VARIANTS
from sayso.explain.attention import attention
from sayso.model.extractor import ModelConfig


def weights_of(case: Case) -> torch.Tensor:
    return attention(*case).detach()


def test_it_is_the_softmax_share_of_each_sentence_in_its_bag() -> None:
    extractor, vector_ND, bags = make_case(VARIANTS["attention"])
    score_NR = weights_of((extractor, vector_ND, bags))
    for bag in range(bags.num_bags):
        is_in_N = bags.bag_N == bag
        torch.testing.assert_close(
            score_NR[is_in_N].T @ vector_ND[is_in_N], plain_representation(extractor, vector_ND[is_in_N]).detach()
        )


def test_the_classifiers_probability_counts_for_all_relations() -> None:
    extractor, vector_ND, bags = make_case(VARIANTS["direct"])
    expected_N = extractor.aggregator.classifier(vector_ND).sigmoid().detach()
    for score_N in weights_of((extractor, vector_ND, bags)).unbind(1):
        torch.testing.assert_close(score_N, expected_N)


@over_variants
def test_equal_sentences_have_equal_weights(config: ModelConfig) -> None:
    score_NR = weights_of(make_case(config))
    assert score_NR[1].equal(score_NR[2])
