from itertools import pairwise

import torch

from model.variants import VARIANTS, WIDTH
from sayso.explain.attention import attention
from toy_batch import make_bags, make_extractor, make_vectors

SIZES = [3, 1, 4]


def test_a_fact_holds_unless_neither_the_pair_nor_any_sentence_states_it() -> None:
    extractor, bags = make_extractor(VARIANTS["noisy_or+E"]), make_bags(SIZES)
    vector_ND = make_vectors(sum(SIZES), WIDTH)
    alone_BR = extractor.scorer.score_pooled(torch.zeros(3, WIDTH, dtype=vector_ND.dtype), bags).sigmoid()
    weight_NR = extractor.aggregator.weigh(vector_ND, bags, extractor.scorer)
    missed_BR = torch.stack([(1 - part).prod(0) for part in weight_NR.split(SIZES)])
    expected_BR = 1 - (1 - alone_BR) * missed_BR
    torch.testing.assert_close(extractor.classify(vector_ND, bags).sigmoid(), expected_BR)


def test_the_explanation_of_attention_is_the_sentences_own_probability() -> None:
    extractor, vector_ND = make_extractor(VARIANTS["noisy_or"]), make_vectors(4, WIDTH)
    together = attention(extractor, vector_ND, make_bags([4]))
    apart = attention(extractor, vector_ND, make_bags([1, 1, 1, 1]))
    assert together.equal(apart)
    assert together.equal((vector_ND @ extractor.scorer.relation_RD.T + extractor.aggregator.bias_R).sigmoid())


def test_a_sentence_more_never_makes_a_fact_less_probable() -> None:
    extractor, vector_ND = make_extractor(VARIANTS["noisy_or"]), make_vectors(5, WIDTH)
    logits = [extractor.classify(vector_ND[:num], make_bags([num]))[0] for num in range(1, 6)]
    assert all(bool((after > before).all()) for before, after in pairwise(logits))


def test_a_fresh_model_gives_every_sentence_the_initial_probability() -> None:
    extractor = make_extractor(VARIANTS["noisy_or"])
    weight_NR = extractor.aggregator.weigh(torch.zeros(2, WIDTH, dtype=torch.float64), make_bags([2]), extractor.scorer)
    torch.testing.assert_close(weight_NR, torch.full_like(weight_NR, 0.01))


def test_with_context_a_fact_that_no_sentence_states_depends_on_all_of_them() -> None:
    extractor, vector_ND = make_extractor(VARIANTS["noisy_or-context"]), make_vectors(4, WIDTH)
    aggregator = extractor.aggregator
    with torch.no_grad():
        aggregator.bias_R.fill_(-1e3)
    expected_R = extractor.scorer.bias_R + aggregator.context(vector_ND, make_bags([4]))[0]
    torch.testing.assert_close(extractor.classify(vector_ND, make_bags([4]))[0], expected_R)
