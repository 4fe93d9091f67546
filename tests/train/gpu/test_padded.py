import torch

from sayso.train.epoch import EpochPlan
from sayso.train.gpu.padded import Capacity, pad_epoch
from sayso.train.gpu.tokens import TokenSpace
from train.toy_run import run_data, toy_config

CPU = torch.device("cpu")


def test_capacity_grows_only_where_something_does_not_fit() -> None:
    capacity = Capacity(sentences=32, words=100)
    assert capacity.holding(sentences=32, words=90) == capacity
    grown = capacity.holding(sentences=33, words=90)
    assert grown.sentences >= 33
    assert grown.sentences % 16 == 0
    assert grown.words == 100


def test_later_epochs_fit_the_capacity_of_the_first_or_ask_for_more(store) -> None:
    data = run_data(store, toy_config("direct"))
    space = TokenSpace.of([data.train.inputs, data.direct.inputs], CPU)
    capacity = Capacity()
    for epoch in (1, 2, 3):
        padded = pad_epoch(EpochPlan(data, epoch), space, capacity, len(data.word_VW))
        assert all(
            now >= before for now, before in zip(vars(padded.capacity).values(), vars(capacity).values(), strict=True)
        )
        shapes = {name: tensor.shape[1:] for name, tensor in padded.fields.items()}
        assert shapes["bag_N"] == (padded.capacity.sentences,)
        assert shapes["word_Y"] == (padded.capacity.words,)
        assert shapes["place_G"] == (padded.capacity.augmented,)
        capacity = padded.capacity


def test_every_bag_has_a_sentence_and_only_real_ones_have_weight(store) -> None:
    data = run_data(store, toy_config())
    space = TokenSpace.of([data.train.inputs], CPU)
    padded = pad_epoch(EpochPlan(data, 1), space, Capacity(), len(data.word_VW))
    start_UB = padded.fields["start_B1"]
    assert (start_UB.diff(dim=1) > 0).all()
    weight_UB = padded.fields["weight_B"]
    torch.testing.assert_close(weight_UB.sum(1), torch.ones(len(weight_UB)))
    assert (weight_UB > 0).sum(1).tolist() == padded.num_bags_U
    group_UG = padded.fields["group_G"]
    assert (group_UG.diff(dim=1) >= 0).all()
    assert sum(padded.num_bags_U) == data.train.table.num_bags
