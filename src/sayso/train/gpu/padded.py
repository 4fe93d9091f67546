"""The steps of an epoch in tensors of equal size, with padding of weight 0.

Shapes: U steps, B bags (of the epoch in its order, or of a batch with one spare bag), N sentences of bags, M
distractors (M1: with one spare), Q direct sentences, S = N + M + Q sentences, T tokens of all steps end to end, G
sentences of augmented bags, R relations, Y words of a step.

If a step has fewer bags than others, each missing one gets an empty sentence; all other empty sentences are in the
spare bag. So every bag has a sentence and no maximum is over an empty set. Augmented bags are padded the same way: a
missing one has an empty sentence of the spare bag and an empty distractor.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from sayso.train.epoch import EpochPlan
from sayso.train.gpu.tokens import EMPTY, TokenSpace, distinct_words, with_columns

_SLACK = 1.02
"""Spare capacity over the largest step of an epoch, so that later epochs fit as well."""


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """The maximum sizes of a step, and the maximum number of tokens in an epoch."""

    sentences: int = 0
    distractors: int = 0
    augmented: int = 0
    words: int = 0
    tokens: int = 0

    def holding(self, **needed: int) -> "Capacity":
        """Return this capacity, enlarged to hold these sizes."""
        too_small = {name: num for name, num in needed.items() if num > getattr(self, name)}
        return replace(self, **{name: -(-int(num * _SLACK + 1) // 16) * 16 for name, num in too_small.items()})


@dataclass(frozen=True, kw_only=True)
class PaddedEpoch:
    """The fields of every step, the tokens of all steps with their rows in their step's table, and sizes."""

    fields: dict[str, Tensor]
    tokens: TokenSpace
    word_T: Tensor
    capacity: Capacity
    num_bags_U: list[int]
    num_sentences: int


def pad_epoch(plan: EpochPlan, space: TokenSpace, capacity: Capacity, num_words: int) -> PaddedEpoch:
    """Return the epoch; `space` contains the training sentences, then the direct ones; `num_words` is V."""
    bags = PlacedBags(plan, space.first_S.device)
    capacity = capacity.holding(sentences=int(bags.num_sentences_U.max()) + 1)
    distractors = None
    if plan.distractors is not None:
        distractors = PlacedDistractors(plan, bags, capacity)
        capacity, space = distractors.capacity, space.plus(plan.distractors.inputs)
    sentence_US = _sentences(plan, bags, distractors, capacity, space)
    fields = _bag_fields(plan, bags, capacity)
    if distractors is not None:
        fields |= _augmented_fields(bags, distractors)
    if plan.data.config.loss.sentence:
        fields |= _target_fields(plan, bags, sentence_US)
    tokens = space.take(sentence_US.view(-1))
    token_T, start_US = tokens.columns[0], tokens.first_S.view(sentence_US.shape)
    # The last sentence of a step ends where the next step begins.
    stop_U = torch.cat([start_US[1:, 0], start_US.new_tensor([len(token_T)])])
    words = distinct_words(token_T, [*start_US[:, 0].tolist(), len(token_T)], num_words)
    capacity = capacity.holding(words=words.word_UY.shape[1], tokens=len(token_T))
    fields["start_S1"] = torch.cat([start_US, stop_U[:, None]], 1).int()
    fields["word_Y"] = with_columns(words.word_UY, capacity.words)
    return PaddedEpoch(
        fields=fields,
        tokens=tokens,
        word_T=words.codes(token_T, num_words, capacity.words),
        capacity=capacity,
        num_bags_U=bags.num_bags_U.tolist(),
        num_sentences=int((tokens.length_S > 0).sum()),
    )


class PlacedBags:
    """The bags of an epoch, the sentences kept from each, and the place of both in their step.

    Bags that are missing in the last step come after all others, with an empty sentence each.
    """

    def __init__(self, plan: EpochPlan, device: torch.device) -> None:
        kept, self.batch_bags = plan.kept.take(plan.order), plan.data.config.train.batch_bags
        self.num_bags, self.num_steps = len(kept), -(-len(kept) // self.batch_bags)
        missing = np.ones(self.num_steps * self.batch_bags - self.num_bags, np.int64)
        self.size_B = torch.from_numpy(np.concatenate([kept.length, missing])).to(device)
        sentence = np.concatenate([1 + kept.value, EMPTY * missing])
        self.sentence_N = torch.from_numpy(sentence).to(device)
        index_B = torch.arange(len(self.size_B), device=device)
        self.step_B, self.place_B = index_B // self.batch_bags, index_B % self.batch_bags
        self.num_bags_U = torch.bincount(self.step_B[: self.num_bags], minlength=self.num_steps)
        self.bag_N = torch.repeat_interleave(index_B, self.size_B, output_size=len(sentence))
        self.step_N = self.step_B[self.bag_N]
        self.num_sentences_U = self.size_B.view(self.num_steps, -1).sum(1)
        self.rank_N = rank_in_step(self.step_N, self.num_sentences_U)
        self.first_B = self.rank_N[self.size_B.cumsum(0) - self.size_B]

    def by_step(self, value_B: Tensor) -> Tensor:
        """Return the values of the bags that are not missing, by step and place; 0 for all others."""
        value_UB = value_B.new_zeros(self.num_steps, self.batch_bags + 1)
        value_UB[self.step_B[: self.num_bags], self.place_B[: self.num_bags]] = value_B
        return value_UB


def rank_in_step(step_X: Tensor, num_U: Tensor) -> Tensor:
    """Return each item's rank within its step; items are in the order of steps, `num_U` in each."""
    first_U = num_U.cumsum(0) - num_U
    return torch.arange(len(step_X), device=step_X.device) - first_U[step_X]


class PlacedDistractors:
    """The distractors: the bag and relation of each and its place in its step; and the size of each augmented bag."""

    def __init__(self, plan: EpochPlan, bags: PlacedBags, capacity: Capacity) -> None:
        assert plan.distractors is not None
        device = bags.size_B.device
        of_bag = plan.distractors.of_bag.take(plan.order)
        self.number_M = torch.from_numpy(of_bag.value).to(device)
        self.relation_M = torch.from_numpy(plan.distractors.relation_M).to(device)[self.number_M]
        bag_M = np.repeat(np.arange(len(of_bag)), of_bag.length)
        self.bag_M = torch.from_numpy(bag_M).to(device)
        self.step_M = bags.step_B[self.bag_M]
        num_U = torch.bincount(self.step_M, minlength=bags.num_steps)
        self.rank_M = rank_in_step(self.step_M, num_U)
        capacity = capacity.holding(distractors=int(num_U.max()))
        # An augmented bag is the bag's own sentences and then the distractor.
        size_UM = torch.full((bags.num_steps, capacity.distractors), 2, device=device)
        self.size_UM = self.fill(size_UM, bags.size_B[self.bag_M] + 1)
        self.capacity = capacity.holding(augmented=int(self.size_UM.sum(1).max()) + 1)

    def fill(self, value_UM: Tensor, value_M: Tensor) -> Tensor:
        """Write the distractors' values to their places in `value_UM`; the other places are for missing distractors."""
        value_UM[self.step_M, self.rank_M] = value_M
        return value_UM


def _sentences(
    plan: EpochPlan, bags: PlacedBags, distractors: PlacedDistractors | None, capacity: Capacity, space: TokenSpace
) -> Tensor:
    """Return sentence_US: bag sentences, distractors and direct sentences of each step, empty ones between them."""
    num_direct = plan.data.config.loss.direct_sentences if plan.data.direct is not None else 0
    num_slots = capacity.sentences + capacity.distractors + num_direct
    sentence_US = torch.full((bags.num_steps, num_slots), EMPTY, device=bags.size_B.device)
    sentence_US[bags.step_N, bags.rank_N] = bags.sentence_N
    if distractors is not None:
        assert plan.distractors is not None
        first = space.num_sentences - len(plan.distractors.inputs.tokens)
        distractors.fill(sentence_US[:, capacity.sentences :], first + distractors.number_M)
    if num_direct:
        row_UQ = torch.from_numpy(plan.direct_order).to(sentence_US.device).view(-1, num_direct)
        sentence_US[:, num_slots - num_direct :] = 1 + plan.data.train.table.num_sentences + row_UQ
    return sentence_US


def _bag_fields(plan: EpochPlan, bags: PlacedBags, capacity: Capacity) -> dict[str, Tensor]:
    table, device, num_bags = plan.data.train.table, bags.size_B.device, bags.batch_bags
    bag_UN = torch.full((bags.num_steps, capacity.sentences), num_bags, device=device)
    bag_UN[bags.step_N, bags.rank_N] = bags.place_B[bags.bag_N]
    start_UB = torch.nn.functional.pad(bags.size_B.view(-1, num_bags).cumsum(1), (1, 1), value=0)
    start_UB[:, -1] = capacity.sentences
    labels = table.relations.take(plan.order)
    label_UBR = torch.zeros(bags.num_steps, num_bags + 1, plan.data.num_relations, device=device)
    of_bag = torch.repeat_interleave(torch.from_numpy(labels.length).to(device))
    label_UBR[bags.step_B[of_bag], bags.place_B[of_bag], torch.from_numpy(labels.value).to(device).long()] = 1.0
    # Row 0 of the entity vectors is for entities without one.
    head_B, tail_B = (
        torch.from_numpy(entity_B[plan.order]).to(device).long() + 1 for entity_B in (table.head_B, table.tail_B)
    )
    return {
        "bag_N": bag_UN,
        "start_B1": start_UB.int(),
        "label_BR": label_UBR,
        "weight_B": bags.by_step(1.0 / bags.num_bags_U[bags.step_B[: bags.num_bags]]),
        "head_B": bags.by_step(head_B),
        "tail_B": bags.by_step(tail_B),
    }


def _target_fields(plan: EpochPlan, bags: PlacedBags, sentence_US: Tensor) -> dict[str, Tensor]:
    """Return each sentence's target, NaN if it has none, and one over the number of targets in the step."""
    is_negative_B = torch.from_numpy(~plan.data.train.table.is_positive_B[plan.order]).to(sentence_US.device)
    is_negative_N = bags.by_step(is_negative_B)[bags.step_N, bags.place_B[bags.bag_N]]
    target_US = torch.full(sentence_US.shape, torch.nan, device=sentence_US.device)
    target_US[bags.step_N, bags.rank_N] = torch.where(is_negative_N, 0.0, torch.nan)
    if plan.data.direct is not None and len(plan.direct_order):
        target = torch.from_numpy(plan.data.direct.table.expresses_N[plan.direct_order]).to(target_US)
        target_UQ = target.view(len(target_US), -1)
        target_US[:, target_US.shape[1] - target_UQ.shape[1] :] = target_UQ
    num_U1 = (~target_US.isnan()).sum(1, keepdim=True)
    return {"target_S": target_US, "target_weight_1": 1.0 / num_U1.clamp(min=1)}


def _augmented_fields(bags: PlacedBags, distractors: PlacedDistractors) -> dict[str, Tensor]:
    """Return the augmented bags: their sentences, bags and relations, and the position of each distractor."""
    capacity, size_UM = distractors.capacity, distractors.size_UM
    num_steps, num_most = size_UM.shape
    # The last sentence of bags is always an empty one of the spare bag.
    spare = capacity.sentences - 1
    first_UM = distractors.fill(torch.full_like(size_UM, spare), bags.first_B[distractors.bag_M])
    of_G = torch.repeat_interleave(size_UM.view(-1))
    step_G, rank_G = of_G // num_most, of_G % num_most
    offset_G = torch.arange(len(of_G), device=of_G.device) - (size_UM.view(-1).cumsum(0) - size_UM.view(-1))[of_G]
    is_itself_G = offset_G == size_UM[step_G, rank_G] - 1
    # The rest goes to the spare augmented bag.
    place_UG = torch.full((num_steps, capacity.augmented), spare, device=of_G.device)
    group_UG = torch.full_like(place_UG, num_most)
    at = (step_G, rank_in_step(step_G, size_UM.sum(1)))
    place_UG[at] = torch.where(is_itself_G, capacity.sentences + rank_G, first_UM[step_G, rank_G] + offset_G)
    group_UG[at] = rank_G
    nothing_UM = size_UM.new_zeros(num_steps, num_most + 1)
    return {
        "place_G": place_UG,
        "group_G": group_UG,
        "itself_M": size_UM.cumsum(1) - 1,
        "distractor_bag_M1": distractors.fill(nothing_UM + bags.batch_bags, bags.place_B[distractors.bag_M]),
        "distractor_relation_M1": distractors.fill(nothing_UM, distractors.relation_M),
        "distractor_weight_M": distractors.fill(
            torch.zeros(size_UM.shape, device=of_G.device), 1.0 / bags.num_bags_U[distractors.step_M]
        ),
    }
