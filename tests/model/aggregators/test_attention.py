import torch

from model.variants import VARIANTS, WIDTH
from toy_batch import make_bags, make_extractor, make_vectors


def test_the_diagonal_starts_as_ones() -> None:
    aggregator = make_extractor(VARIANTS["attention"]).aggregator
    assert aggregator.diagonal_D.equal(torch.ones(WIDTH, dtype=torch.float64))


def test_a_sentence_alone_has_weight_one_for_every_relation() -> None:
    extractor = make_extractor(VARIANTS["attention"])
    weight_NR = extractor.aggregator.weigh(make_vectors(3, WIDTH), make_bags([1, 1, 1]), extractor.scorer)
    assert weight_NR.equal(torch.ones_like(weight_NR))


def test_attention_classifies_no_sentences() -> None:
    assert make_extractor(VARIANTS["attention"]).aggregator.sentence_logit(make_vectors(2, WIDTH)) is None
