"""The steps of an epoch in tensors of equal size, with padding of weight 0.

Shapes: U steps, B bags (of the epoch in its order, or of a batch with one spare bag), N sentences of bags, M
distractors (M1: with one spare), Q direct sentences, S = N + M + Q sentences, T tokens of all steps end to end, G
sentences of augmented bags, R relations, Y words of a step.

If a step has fewer bags than others, each missing one gets an empty sentence; all other empty sentences are in the
spare bag. So every bag has a sentence and no maximum is over an empty set. Augmented bags are padded likewise: a
missing one has an empty sentence of its own and an empty distractor.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from sayso.train.epoch import EpochPlan
from sayso.train.gpu.tokens import TokenSpace, distinct_words


def rank_in_step(step_X: Tensor, num_U: Tensor) -> Tensor:
    """Return each item's rank within its step; items are in the order of steps, `num_U` in each."""
    first_U = num_U.cumsum(0) - num_U
    return torch.arange(len(step_X), device=step_X.device) - first_U[step_X]


class PlacedBags:
    """The bags of an epoch and the sentences kept from each."""

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
        """The number of sentences in the largest step, plus one per missing bag and one for the spare bag."""
        return int((self.num_sentences_U + self.batch_bags - self.num_bags_U).max()) + 1


class PlacedDistractors:
    """The distractors, and the augmented bag that each forms with the sentences of its bag."""

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
        """The largest number of distractors in a step."""
        return int(self.num_U.max())

    def num_most_augmented(self, num_distractors: int) -> int:
        """Return the largest number of sentences in a step's augmented bags, plus two per missing bag and one spare."""
        return int((self.num_own_U + 2 * (num_distractors - self.num_U)).max()) + 1


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
    capacity = capacity.holding(sentences=bags.num_most)
    distractors = PlacedDistractors(plan, bags) if plan.distractors is not None else None
    if distractors is not None:
        capacity = capacity.holding(distractors=distractors.num_most)
        capacity = capacity.holding(augmented=distractors.num_most_augmented(capacity.distractors))
    fields = _bag_fields(plan, bags, capacity)
    if distractors is not None:
        fields |= _augmented_fields(bags, distractors, capacity)
        assert plan.distractors is not None
        space = space.plus(plan.distractors.inputs)
    sentence_US = _sentences(plan, bags, distractors, capacity, space)
    if plan.data.config.loss.sentence:
        fields |= _target_fields(plan, bags, sentence_US)
    return _with_tokens(space.take(sentence_US.view(-1)), sentence_US.shape[1], fields, bags, capacity, num_words)


def _with_tokens(
    tokens: TokenSpace, num_slots: int, fields: dict[str, Tensor], bags: PlacedBags, capacity: Capacity, num_words: int
) -> PaddedEpoch:
    token_T = tokens.columns[0]
    start_US = tokens.first_S.view(-1, num_slots)
    # The last sentence of a step ends where the next step begins.
    stop_U = torch.cat([start_US[1:, 0], start_US.new_tensor([len(token_T)])])
    words = distinct_words(token_T, [*start_US[:, 0].tolist(), len(token_T)], num_words)
    capacity = capacity.holding(words=words.num_most, tokens=len(token_T))
    fields["start_S1"] = torch.cat([start_US, stop_U[:, None]], 1).int()
    fields["word_Y"] = words.table(len(start_US), capacity.words)
    return PaddedEpoch(
        fields=fields,
        tokens=tokens,
        word_T=words.codes(token_T >= num_words, token_T - num_words, capacity.words),
        capacity=capacity,
        num_bags_U=bags.num_bags_U.tolist(),
        num_sentences=int((tokens.length_S > 0).sum()),
    )


def _sentences(
    plan: EpochPlan, bags: PlacedBags, distractors: PlacedDistractors | None, capacity: Capacity, space: TokenSpace
) -> Tensor:
    """Return sentence_US: bag sentences, distractors and direct sentences of each step, empty ones between them."""
    num_direct = plan.data.config.loss.direct_sentences if plan.data.direct is not None else 0
    num_slots = capacity.sentences + capacity.distractors + num_direct
    sentence_US = bags.sentence_N.new_zeros(bags.num_steps, num_slots)
    sentence_US[bags.step_N, bags.rank_N] = bags.sentence_N + 1
    if distractors is not None:
        assert plan.distractors is not None
        first = space.num_sentences - len(plan.distractors.inputs.tokens)
        place_M = capacity.sentences + distractors.rank_M
        sentence_US[distractors.step_M, place_M] = first + distractors.number_M
    if num_direct:
        row_UQ = torch.from_numpy(plan.direct_order).to(sentence_US.device).view(-1, num_direct)
        sentence_US[:, num_slots - num_direct :] = 1 + plan.data.train.table.num_sentences + row_UQ
    return sentence_US


def _bag_fields(plan: EpochPlan, bags: PlacedBags, capacity: Capacity) -> dict[str, Tensor]:
    table, device, num_bags = plan.data.train.table, bags.size_B.device, bags.batch_bags
    shape = (bags.num_steps, num_bags + 1)
    bag_UN = bags.bag_N.new_full((bags.num_steps, capacity.sentences), num_bags)
    bag_UN[bags.step_N, bags.rank_N] = bags.place_B[bags.bag_N]
    # Only the last step can have fewer bags.
    num_there, num_sentences = int(bags.num_bags_U[-1]), int(bags.num_sentences_U[-1])
    missing = torch.arange(num_there, num_bags, device=device)
    bag_UN[-1, num_sentences : num_sentences + len(missing)] = missing
    size_UB = torch.zeros(shape, dtype=torch.int64, device=device).scatter_add(1, bag_UN, torch.ones_like(bag_UN))
    labels = table.relations.take(plan.order)
    label_UBR = torch.zeros(*shape, plan.data.num_relations, device=device)
    of_bag = torch.repeat_interleave(torch.from_numpy(labels.length).to(device))
    label_UBR[bags.step_B[of_bag], bags.place_B[of_bag], torch.from_numpy(labels.value).to(device).long()] = 1.0
    weight_UB = torch.zeros(shape, device=device)
    weight_UB[bags.step_B, bags.place_B] = 1.0 / bags.num_bags_U[bags.step_B]
    fields = {
        "bag_N": bag_UN,
        "start_B1": torch.nn.functional.pad(size_UB.cumsum(1), (1, 0)).int(),
        "label_BR": label_UBR,
        "weight_B": weight_UB,
    }
    for name, entity_B in (("head_B", table.head_B), ("tail_B", table.tail_B)):
        # Row 0 of the entity vectors is for entities without one.
        fields[name] = torch.zeros(shape, dtype=torch.int64, device=device)
        fields[name][bags.step_B, bags.place_B] = torch.from_numpy(entity_B[plan.order]).to(device).long() + 1
    return fields


def _target_fields(plan: EpochPlan, bags: PlacedBags, sentence_US: Tensor) -> dict[str, Tensor]:
    """Return each sentence's target, NaN if it has none, and one over the number of targets in the step."""
    is_positive_B = torch.from_numpy(plan.data.train.table.is_positive_B[plan.order]).to(sentence_US.device)
    target_US = torch.full(sentence_US.shape, torch.nan, device=sentence_US.device)
    target_US[bags.step_N, bags.rank_N] = torch.where(is_positive_B[bags.bag_N], torch.nan, 0.0)
    if plan.data.direct is not None and len(plan.direct_order):
        target = torch.from_numpy(plan.data.direct.table.expresses_N[plan.direct_order]).to(target_US)
        target_UQ = target.view(len(target_US), -1)
        target_US[:, target_US.shape[1] - target_UQ.shape[1] :] = target_UQ
    num_U1 = (~target_US.isnan()).sum(1, keepdim=True)
    return {"target_S": target_US, "target_weight_1": 1.0 / num_U1.clamp(min=1)}


def _augmented_fields(bags: PlacedBags, distractors: PlacedDistractors, capacity: Capacity) -> dict[str, Tensor]:
    """Return the augmented bags: their sentences, bags and relations, and the position of each distractor."""
    num_steps, num_most, device = bags.num_steps, capacity.distractors, bags.size_B.device
    rank_UM = torch.arange(num_most, device=device).expand(num_steps, -1)
    is_missing_UM = rank_UM >= distractors.num_U[:, None]
    # The rest goes to the spare augmented bag; the last sentence of bags is always an empty one of the spare bag.
    place_UG = torch.full((num_steps, capacity.augmented), capacity.sentences - 1, device=device)
    group_UG = torch.full_like(place_UG, num_most)
    itself_UM = distractors.num_own_U[:, None] + 2 * (rank_UM - distractors.num_U[:, None]) + 1
    step_UM = torch.arange(num_steps, device=device)[:, None].expand_as(rank_UM)
    for offset, place in ((0, capacity.sentences - 1), (1, capacity.sentences + rank_UM[is_missing_UM])):
        at = (step_UM[is_missing_UM], itself_UM[is_missing_UM] - 1 + offset)
        place_UG[at], group_UG[at] = place, rank_UM[is_missing_UM]
    index_M = torch.arange(len(distractors.size_M), device=device)
    of_G = torch.repeat_interleave(index_M, distractors.size_M)
    stop_M = distractors.size_M.cumsum(0)
    offset_G = torch.arange(len(of_G), device=device) - (stop_M - distractors.size_M)[of_G]
    is_itself_G = offset_G == distractors.size_M[of_G] - 1
    own_G = distractors.first_M[of_G] + offset_G
    at = (distractors.step_M[of_G], distractors.start_M[of_G] + offset_G)
    place_UG[at] = torch.where(is_itself_G, capacity.sentences + distractors.rank_M[of_G], own_G)
    group_UG[at] = distractors.rank_M[of_G]
    itself_UM[distractors.step_M, distractors.rank_M] = distractors.start_M + distractors.size_M - 1
    bag_UM = torch.full((num_steps, num_most + 1), bags.batch_bags, device=device)
    bag_UM[distractors.step_M, distractors.rank_M] = bags.place_B[distractors.bag_M]
    relation_UM = torch.zeros_like(bag_UM)
    relation_UM[distractors.step_M, distractors.rank_M] = distractors.relation_M
    weight_UM = torch.zeros(num_steps, num_most, device=device)
    weight_UM[distractors.step_M, distractors.rank_M] = 1.0 / bags.num_bags_U[distractors.step_M]
    return {
        "place_G": place_UG,
        "group_G": group_UG,
        "itself_M": itself_UM,
        "distractor_bag_M1": bag_UM,
        "distractor_relation_M1": relation_UM,
        "distractor_weight_M": weight_UM,
    }
