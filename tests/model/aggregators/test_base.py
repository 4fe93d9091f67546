import math

import pytest
import torch

from model.variants import VARIANTS, WIDTH
from sayso.model.aggregators.base import BagContext
from toy_batch import make_bags, make_extractor, make_vectors


def context_of(name: str) -> BagContext:
    context = make_extractor(VARIANTS[name]).aggregator.context
    with torch.no_grad():
        context.size_R.copy_(torch.linspace(-1, 1, len(context.size_R)))
    return context


@pytest.mark.parametrize("name", ["attention-context", "noisy_or-context"])
def test_context_depends_on_what_the_sentences_are_about_and_how_many_there_are(name: str) -> None:
    context, vector_ND = context_of(name), make_vectors(5, WIDTH)
    expected_R = vector_ND[:4].mean(0) @ context.direction_RD.T + math.log(4) * context.size_R
    torch.testing.assert_close(context(vector_ND, make_bags([4, 1]))[0], expected_R)


def test_context_is_zero_without_sentences() -> None:
    context = context_of("attention-context")
    assert not context.without_one(make_vectors(1, WIDTH), make_bags([1])).any()


def test_context_without_one_sentence_is_that_of_the_others() -> None:
    context, vector_ND = context_of("attention-context"), make_vectors(3, WIDTH)
    others_R = context(vector_ND[1:], make_bags([2]))[0]
    torch.testing.assert_close(context.without_one(vector_ND, make_bags([3]))[0], others_R)


def test_context_of_prefixes_is_that_of_each_prefix() -> None:
    context, vector_LD = context_of("attention-context"), make_vectors(3, WIDTH)
    order_PL = torch.tensor([[2, 0, 1]])
    for length in (1, 2, 3):
        expected_R = context(vector_LD[order_PL[0, :length]], make_bags([length]))[0]
        torch.testing.assert_close(context.of_prefixes(vector_LD, order_PL)[0, length - 1], expected_R)


def test_marks_train_each_sentences_own_score_alone() -> None:
    for name in ("attention-context", "noisy_or-context"):
        extractor, vector_ND = make_extractor(VARIANTS[name]), make_vectors(4, WIDTH)
        own_NR = extractor.aggregator.own_score(vector_ND, extractor.scorer)
        extractor.aggregator.context.direction_RD.data.add_(1.0)
        assert own_NR.equal(extractor.aggregator.own_score(vector_ND, extractor.scorer))
