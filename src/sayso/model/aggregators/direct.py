"""DirectSup: a sentence classifier, also trained on directly supervised sentences, weights each sentence.

Beltagy, Lo, Ammar 2019. Shapes: B bags, N sentences in all bags, D width of a sentence vector, R relations,
H hidden units.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import Tensor

from sayso.config import Range, check_ranges
from sayso.errors import BadConfigError
from sayso.features.batch import BagIndex
from sayso.model.aggregators.base import Aggregator, AggregatorConfig, Influence, Pull
from sayso.model.layers import Affine
from sayso.model.ragged import bag_max, max_share
from sayso.model.relation import RelationScorer

SECOND_MAP_WIDTH = 50


@dataclass(frozen=True, kw_only=True)
class DirectConfig(AggregatorConfig):
    """`weight` is the classifier's probability (the paper) or a second small network on its logit (published code)."""

    weight: Literal["classifier", "second_map"] = "classifier"
    hidden_width: Annotated[int, Range(1, 10_000)] = 100

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.weight not in ("classifier", "second_map"):
            raise BadConfigError(f"aggregator weight {self.weight!r}: choose classifier or second_map")


class Perceptron(torch.nn.Module):
    """One hidden ReLU layer and one output, with its gradient in closed form."""

    def __init__(self, num_in: int, num_hidden: int, generator: torch.Generator) -> None:
        super().__init__()
        self.hidden = Affine(num_in, num_hidden, generator)
        self.output = Affine(num_hidden, 1, generator)

    def forward(self, vector_ND: Tensor) -> Tensor:
        """Return one value per row."""
        value_N: Tensor = self.output(self.hidden(vector_ND).relu())[:, 0]
        return value_N

    def gradient(self, vector_ND: Tensor) -> Tensor:
        """Return the gradient of each row's value with respect to the row; the ReLU indicator is constant."""
        with torch.no_grad():
            is_on_NH = self.hidden(vector_ND) > 0
        gradient_ND: Tensor = (is_on_NH * self.output.weight) @ self.hidden.weight
        return gradient_ND


class Direct(Aggregator):
    """x̄ = elementwise maximum over the bag of α_n x_n, α_n the probability that sentence n expresses some relation.

    Sentences that tie in a dimension share it equally, including at zero.
    """

    def __init__(self, config: DirectConfig, num_relations: int, width: int, generator: torch.Generator) -> None:
        super().__init__(config, num_relations, width, generator)
        self.classifier = Perceptron(width, config.hidden_width, generator)
        has_second_map = config.weight == "second_map"
        self.second_map = Perceptron(1, SECOND_MAP_WIDTH, generator) if has_second_map else None

    def forward(self, vector_ND: Tensor, bags: BagIndex, scorer: RelationScorer) -> Tensor:
        """Return logit_BR."""
        weighted_ND = self.weigh(vector_ND, bags, scorer) * vector_ND
        return scorer.score_pooled(bag_max(weighted_ND, bags.bag_N, bags.num_bags), bags)

    def weigh(self, vector_ND: Tensor, bags: BagIndex, scorer: RelationScorer) -> Tensor:
        """Return weight_N1, which is the same for all relations and does not depend on the bag."""
        del bags, scorer
        logit_N = self.sentence_logit(vector_ND)
        if self.second_map is not None:
            logit_N = self.second_map(logit_N[:, None])
        return logit_N.sigmoid()[:, None]

    def sentence_logit(self, vector_ND: Tensor) -> Tensor:
        """Return the logit that each sentence expresses some relation in the knowledge base."""
        logit_N: Tensor = self.classifier(vector_ND)
        return logit_N

    def own_score(self, vector_ND: Tensor, scorer: RelationScorer) -> Tensor:
        """Return the sentence logit, which is the same for all relations."""
        return self.sentence_logit(vector_ND)[:, None].expand(-1, scorer.bias_R.shape[0])

    def influence(self, vector_ND: Tensor, bags: BagIndex, scorer: RelationScorer) -> Influence:
        """Return the terms of ∂o_k/∂x_n = α_n (m_n ∘ g_k) + (Σ_d m_nd g_kd x_nd) ∇α_n."""
        weight_N1 = self.weigh(vector_ND, bags, scorer)
        weighted_ND = weight_N1 * vector_ND
        share_ND = max_share(weighted_ND, bags.bag_N, bags.num_bags)
        slope = scorer.slope_pooled(bag_max(weighted_ND, bags.bag_N, bags.num_bags), bags)
        match_NR = slope.match(share_ND * vector_ND, bags)
        direction_ND = weight_N1 * (1.0 - weight_N1) * self._weight_logit_gradient(vector_ND)
        return Influence(
            weight_NR=weight_N1,
            share_ND=share_ND,
            slope=slope,
            match_NR=match_NR,
            pulls=(Pull(match_NR, direction_ND[:, None], (vector_ND * direction_ND).sum(1, keepdim=True)),),
        )

    def _weight_logit_gradient(self, vector_ND: Tensor) -> Tensor:
        gradient_ND = self.classifier.gradient(vector_ND)
        if self.second_map is None:
            return gradient_ND
        return self.second_map.gradient(self.sentence_logit(vector_ND)[:, None]) * gradient_ND
