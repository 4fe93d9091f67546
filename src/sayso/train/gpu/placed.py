"""Where the bags, sentences and distractors of an epoch stand: in which step, and at which place of it.

Shapes: U steps, B bags of the epoch in its order, N sentences they keep, M distractors, G sentences of augmented bags.
"""

import torch
from torch import Tensor

from sayso.train.epoch import EpochPlan


def rank_in_step(step_X: Tensor, num_U: Tensor) -> Tensor:
    """Return for things in the order of their steps, `num_U` in each, how many of the same step stand before each."""
    first_U = num_U.cumsum(0) - num_U
    return torch.arange(len(step_X), device=step_X.device) - first_U[step_X]


class PlacedBags:
    """The bags and the sentences they keep."""

    def __init__(self, plan: EpochPlan, device: torch.device) -> None:
        kept = plan.kept.take(plan.order)
        self.batch_bags = plan.data.config.train.batch_bags
        self.size_B = torch.from_numpy(kept.length).to(device)
        self.sentence_N = torch.from_numpy(kept.value).to(device)
        index_B = torch.arange(len(self.size_B), device=device)
        self.step_B, self.place_B = index_B // self.batch_bags, index_B % self.batch_bags
        self.num_steps = -(-len(index_B) // self.batch_bags)
        self.bag_N = torch.repeat_interleave(index_B, self.size_B, output_size=len(self.sentence_N))
        self.step_N = self.step_B[self.bag_N]
        self.num_bags_U = torch.bincount(self.step_B, minlength=self.num_steps)
        self.num_sentences_U = torch.bincount(self.step_N, minlength=self.num_steps)
        self.rank_N = rank_in_step(self.step_N, self.num_sentences_U)
        self.first_B = self.size_B.cumsum(0) - self.size_B

    @property
    def num_most(self) -> int:
        """The sentences of the largest step, with one for each missing bag and one for the spare bag."""
        return int((self.num_sentences_U + self.batch_bags - self.num_bags_U).max()) + 1


class PlacedDistractors:
    """The distractors, and the augmented bags that each makes with the sentences of its bag."""

    def __init__(self, plan: EpochPlan, bags: PlacedBags) -> None:
        assert plan.distractors is not None
        device = bags.size_B.device
        of_bag = plan.distractors.of_bag.take(plan.order)
        number_M, length_B = torch.from_numpy(of_bag.value).to(device), torch.from_numpy(of_bag.length).to(device)
        relation = torch.from_numpy(plan.distractors.relation_M).to(device)
        index_B = torch.arange(len(length_B), device=device)
        self.number_M, self.relation_M = number_M, relation[number_M]
        self.bag_M = torch.repeat_interleave(index_B, length_B, output_size=len(number_M))
        self.step_M = bags.step_B[self.bag_M]
        self.num_U = torch.bincount(self.step_M, minlength=bags.num_steps)
        self.rank_M = rank_in_step(self.step_M, self.num_U)
        # An augmented bag is the bag's own sentences and then the distractor.
        self.size_M = bags.size_B[self.bag_M] + 1
        self.first_M = bags.rank_N[bags.first_B[self.bag_M]]
        self.num_own_U = torch.zeros_like(self.num_U).index_add(0, self.step_M, self.size_M)
        stop_M = self.size_M.cumsum(0)
        first_U = self.num_own_U.cumsum(0) - self.num_own_U
        self.start_M = stop_M - self.size_M - first_U[self.step_M]

    @property
    def num_most(self) -> int:
        """The distractors of the step that has most."""
        return int(self.num_U.max())

    def num_most_augmented(self, num_distractors: int) -> int:
        """The sentences of the largest step's augmented bags, with two for each missing one and one spare."""
        return int((self.num_own_U + 2 * (num_distractors - self.num_U)).max()) + 1
