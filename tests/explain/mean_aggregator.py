"""An aggregator without a closed form, the mean of the sentences, for code that must work with any aggregator."""

import torch
from torch import Tensor

from explain.cases import SIZES
from model.variants import VARIANTS, WIDTH
from sayso.features.batch import BagIndex
from sayso.model.aggregators.base import Aggregator, AggregatorConfig, Influence
from sayso.model.extractor import Extractor
from sayso.model.ragged import bag_sum
from sayso.model.relation import RelationScorer
from toy_batch import NUM_RELATIONS, make_bags, make_extractor, make_vectors


class Mean(Aggregator):
    def __init__(self) -> None:
        super().__init__(AggregatorConfig(), NUM_RELATIONS, WIDTH, torch.Generator())

    def forward(self, vector_ND: Tensor, bags: BagIndex, scorer: RelationScorer) -> Tensor:
        weighted_ND = self.weigh(vector_ND, bags, scorer) * vector_ND
        return scorer.score_pooled(bag_sum(weighted_ND, bags.bag_N, bags.num_bags), bags)

    def weigh(self, vector_ND: Tensor, bags: BagIndex, scorer: RelationScorer) -> Tensor:
        return 1.0 / torch.bincount(bags.bag_N)[bags.bag_N][:, None].to(vector_ND)

    def own_score(self, vector_ND: Tensor, scorer: RelationScorer) -> Tensor:
        return vector_ND.new_zeros(len(vector_ND), NUM_RELATIONS)

    def influence(self, vector_ND: Tensor, bags: BagIndex, scorer: RelationScorer) -> Influence:
        raise NotImplementedError


def make_mean_case() -> tuple[Extractor, Tensor, BagIndex]:
    extractor = make_extractor(VARIANTS["attention+E"])
    extractor.aggregator = Mean()
    return extractor, make_vectors(sum(SIZES), WIDTH), make_bags(SIZES)
