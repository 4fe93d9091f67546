"""What every aggregator promises, without and with entities."""

import pkgutil
from itertools import pairwise

import pytest
import torch

import sayso.model.aggregators
from sayso.features.batch import BagIndex
from sayso.model.aggregators import AGGREGATORS
from sayso.model.encoders.cnn import CnnConfig
from sayso.model.extractor import Extractor, ModelConfig
from toy_batch import NUM_RELATIONS, make_bags, make_extractor, make_vectors

WIDTH = 8
SIZES = [3, 1, 6, 1, 2]
STARTS = [0, *torch.tensor(SIZES).cumsum(0).tolist()]
over_kinds = pytest.mark.parametrize("kind", AGGREGATORS)
over_entities = pytest.mark.parametrize("use_entities", [False, True], ids=["-E", "+E"])


def extractor_of(kind: str, use_entities: bool = False, seed: int = 0) -> Extractor:
    encoder = CnnConfig(num_filters=4, output_width=WIDTH)
    aggregator = AGGREGATORS[kind][0]()
    return make_extractor(ModelConfig(encoder=encoder, aggregator=aggregator, use_entities=use_entities), seed)


def test_every_file_of_the_folder_is_registered() -> None:
    files = {module.name for module in pkgutil.iter_modules(sayso.model.aggregators.__path__)}
    assert files - {"base", "context"} == set(AGGREGATORS)


@over_kinds
@over_entities
def test_a_bag_alone_equals_the_bag_in_a_batch(kind: str, use_entities: bool) -> None:
    extractor, bags = extractor_of(kind, use_entities), make_bags(SIZES)
    vector_ND = make_vectors(sum(SIZES), WIDTH)
    together = extractor.classify(vector_ND, bags)
    for b, (start, stop) in enumerate(pairwise(STARTS)):
        index = BagIndex(bag_N=bags.bag_N[start:stop] - b, head_B=bags.head_B[[b]], tail_B=bags.tail_B[[b]])
        alone = extractor.classify(vector_ND[start:stop], index)
        torch.testing.assert_close(alone[0], together[b], atol=1e-12, rtol=1e-12)


@over_kinds
@over_entities
def test_the_order_of_sentences_in_a_bag_does_not_matter(kind: str, use_entities: bool) -> None:
    extractor, bags = extractor_of(kind, use_entities), make_bags(SIZES)
    vector_ND = make_vectors(sum(SIZES), WIDTH)
    turned_ND = torch.cat([part.flip(0) for part in vector_ND.split(SIZES)])
    torch.testing.assert_close(extractor.classify(turned_ND, bags), extractor.classify(vector_ND, bags))


@over_kinds
def test_weights_lie_between_zero_and_one(kind: str) -> None:
    bags, vector_ND = make_bags(SIZES), make_vectors(sum(SIZES), WIDTH)
    extractor = extractor_of(kind)
    weight_NR = extractor.aggregator.weigh(vector_ND, bags, extractor.scorer)
    assert weight_NR.shape[0] == len(vector_ND)
    assert bool(((weight_NR >= 0) & (weight_NR <= 1)).all())


def test_weights_of_attention_sum_to_one_in_every_bag() -> None:
    extractor = extractor_of("attention")
    vector_ND, bags = make_vectors(sum(SIZES), WIDTH), make_bags(SIZES)
    weight_NR = extractor.aggregator.weigh(vector_ND, bags, extractor.scorer)
    total_BR = torch.stack([part.sum(0) for part in weight_NR.split(SIZES)])
    torch.testing.assert_close(total_BR, torch.ones_like(total_BR))


@over_kinds
@over_entities
def test_a_sentences_own_score_depends_on_no_other_sentence_and_orders_the_weights(
    kind: str, use_entities: bool
) -> None:
    extractor, bags = extractor_of(kind, use_entities), make_bags(SIZES)
    vector_ND = make_vectors(sum(SIZES), WIDTH)
    score_NR = extractor.aggregator.own_score(vector_ND, extractor.scorer)
    assert score_NR.shape == (sum(SIZES), NUM_RELATIONS)
    alone_NR = torch.cat([extractor.aggregator.own_score(row_1D, extractor.scorer) for row_1D in vector_ND.split(1)])
    torch.testing.assert_close(alone_NR, score_NR)
    weight_NR = extractor.aggregator.weigh(vector_ND, bags, extractor.scorer).expand_as(score_NR)
    for score_nR, weight_nR in zip(score_NR.split(SIZES), weight_NR.split(SIZES), strict=True):
        assert torch.equal(score_nR.argsort(0), weight_nR.argsort(0))


@over_kinds
@over_entities
def test_a_saved_state_gives_the_same_logits(kind: str, use_entities: bool) -> None:
    first, other = extractor_of(kind, use_entities), extractor_of(kind, use_entities, seed=1)
    bags, vector_ND = make_bags(SIZES), make_vectors(sum(SIZES), WIDTH)
    assert not other.classify(vector_ND, bags).equal(first.classify(vector_ND, bags))
    other.load_state_dict(first.state_dict())
    assert other.classify(vector_ND, bags).equal(first.classify(vector_ND, bags))


@over_kinds
@over_entities
def test_a_bag_of_5000_sentences_gives_finite_logits_and_gradients(kind: str, use_entities: bool) -> None:
    extractor, vector_ND = extractor_of(kind, use_entities), make_vectors(5001, WIDTH).requires_grad_()
    logit_BR = extractor.classify(vector_ND, make_bags([5000, 1]))
    logit_BR.sum().backward()
    assert vector_ND.grad is not None
    assert bool(logit_BR.isfinite().all())
    assert bool(vector_ND.grad.isfinite().all())


@over_kinds
@over_entities
def test_the_parts_of_the_influence_make_the_gradient(kind: str, use_entities: bool) -> None:
    extractor, bags = extractor_of(kind, use_entities), make_bags(SIZES)
    vector_ND = make_vectors(sum(SIZES), WIDTH).requires_grad_()
    logit_BR = extractor.classify(vector_ND, bags)
    parts = extractor.aggregator.influence(vector_ND, bags, extractor.scorer)
    slope = parts.slope.of_bags()
    slope_NRD = slope if len(slope) == 1 else slope[bags.bag_N]
    closed_NRD = parts.weight_NR[..., None] * parts.share_ND[:, None] * slope_NRD
    for pull in parts.pulls:
        closed_NRD = closed_NRD + pull.change_NR[..., None] * pull.direction_NRD
    for k in range(logit_BR.shape[1]):
        (gradient_ND,) = torch.autograd.grad(logit_BR[:, k].sum(), vector_ND, retain_graph=True)
        torch.testing.assert_close(closed_NRD[:, k], gradient_ND, atol=1e-12, rtol=1e-9)
