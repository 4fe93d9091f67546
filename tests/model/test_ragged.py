import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sayso.model.ragged import (
    bag_match,
    bag_max,
    bag_mix,
    bag_softmax,
    bag_starts,
    bag_sum,
    max_of_others,
    max_share,
    mean_of_others,
)

# No deadline: the first call of an operation loads code, which takes its time.
FEW = settings(deadline=None, max_examples=30)
sizes = st.lists(st.integers(1, 9), min_size=1, max_size=6)
tails = st.sampled_from([(), (3,), (2, 3)])


def index_of(sizes: list[int]) -> Tensor:
    return torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))


def draw(sizes: list[int], tail: tuple[int, ...]) -> Tensor:
    # Halves, so that ties happen.
    generator = torch.Generator().manual_seed(len(sizes))
    return torch.randint(-4, 5, (sum(sizes), *tail), generator=generator).double() / 2


def by_bag(value: Tensor, sizes: list[int]) -> list[Tensor]:
    return list(value.split(sizes))


@FEW
@given(sizes, tails)
def test_sum_max_and_softmax_equal_those_of_each_bag_alone(sizes: list[int], tail: tuple[int, ...]) -> None:
    value, bag = draw(sizes, tail), index_of(sizes)
    parts = by_bag(value, sizes)
    torch.testing.assert_close(bag_sum(value, bag, len(sizes)), torch.stack([part.sum(0) for part in parts]))
    torch.testing.assert_close(bag_max(value, bag, len(sizes)), torch.stack([part.amax(0) for part in parts]))
    torch.testing.assert_close(bag_softmax(value, bag, len(sizes)), torch.cat([part.softmax(0) for part in parts]))


@FEW
@given(sizes, tails)
def test_max_of_others_is_the_max_of_the_bag_without_the_sentence(sizes: list[int], tail: tuple[int, ...]) -> None:
    value = draw(sizes, tail)
    expected = []
    for part in by_bag(value, sizes):
        for n in range(len(part)):
            rest = torch.cat([part[:n], part[n + 1 :]])
            expected.append(rest.amax(0) if len(rest) else torch.full(tail, -torch.inf, dtype=torch.float64))
    torch.testing.assert_close(max_of_others(value, index_of(sizes), len(sizes)), torch.stack(expected))


@FEW
@given(sizes, tails, st.sampled_from([1.0, 40.0]))
def test_mean_of_others_is_the_softmax_mean_of_the_bag_without_the_sentence(sizes, tail, scale) -> None:
    score, value = scale * draw(sizes, tail), draw(sizes, tail).flip(0)
    expected = []
    for scores, values in zip(by_bag(score, sizes), by_bag(value, sizes), strict=True):
        for n in range(len(scores)):
            others = [i for i in range(len(scores)) if i != n]
            expected.append((scores[others].softmax(0) * values[others]).sum(0))
    got = mean_of_others(score, value, index_of(sizes), len(sizes))
    torch.testing.assert_close(got, torch.stack(expected), atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("gap", [20.0, 120.0])
def test_float32_survives_wide_gaps_between_scores(gap: float) -> None:
    score = torch.tensor([gap, 0.0, -gap, 5.0], requires_grad=True)
    value = torch.tensor([9.0, 2.0, 7.0, 1.0])
    bag = torch.tensor([0, 0, 0, 1])
    torch.testing.assert_close(bag_softmax(score, bag, 2), torch.tensor([1.0, 0.0, 0.0, 1.0]), atol=1e-8, rtol=0)
    others = mean_of_others(score, value, bag, 2)
    torch.testing.assert_close(others, torch.tensor([2.0, 9.0, 9.0, 0.0]))
    (others.sum() + bag_softmax(score, bag, 2).square().sum()).backward()
    assert score.grad is not None
    assert score.grad.isfinite().all()


def test_ties_share_the_gradient_of_the_max_equally() -> None:
    value = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.5, 0.0]], requires_grad=True)
    bag_max(value, torch.zeros(3, dtype=torch.long), 1).sum().backward()
    expected = torch.tensor([[1 / 2, 1 / 3], [1 / 2, 1 / 3], [0, 1 / 3]])
    torch.testing.assert_close(value.grad, expected)
    torch.testing.assert_close(max_share(value, torch.zeros(3, dtype=torch.long), 1), expected)


@FEW
@given(sizes)
def test_products_by_bag_equal_those_of_each_bag_alone(sizes: list[int]) -> None:
    weight, value, slope = draw(sizes, (3,)), draw(sizes, (2,)), draw(sizes, (3, 2))[: len(sizes)]
    pairs = list(zip(by_bag(weight, sizes), by_bag(value, sizes), strict=True))
    torch.testing.assert_close(
        bag_mix(weight, value, index_of(sizes), len(sizes)), torch.stack([w.T @ v for w, v in pairs])
    )
    expected = torch.cat([v @ slope[b].T for b, (_, v) in enumerate(pairs)])
    torch.testing.assert_close(bag_match(value, slope, index_of(sizes)), expected)


@pytest.mark.parametrize("reduce", [bag_sum, bag_max, bag_softmax, max_of_others])
def test_reductions_have_the_right_gradient(reduce) -> None:
    bag = index_of([1, 4, 2])
    value = torch.randn(7, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    # A sentence alone has no others; its −inf has no derivative.
    assert torch.autograd.gradcheck(lambda v: reduce(v, bag, 3).nan_to_num(neginf=0.0), value)


def test_products_by_bag_have_the_right_gradient() -> None:
    bag, generator = index_of([1, 3, 2]), torch.Generator().manual_seed(0)
    weight, value, slope = (
        torch.randn(*shape, dtype=torch.float64, generator=generator, requires_grad=True)
        for shape in [(6, 2), (6, 3), (3, 2, 3)]
    )
    assert torch.autograd.gradcheck(lambda w, v: bag_mix(w, v, bag, 3), (weight, value))
    assert torch.autograd.gradcheck(lambda v, s: bag_match(v, s, bag), (value, slope))


def test_bags_without_sentences_are_zero_sums_and_mixtures() -> None:
    bag = torch.tensor([1, 1])
    assert bag_sum(torch.ones(2), bag, 3).tolist() == [0, 2, 0]
    mixed = bag_mix(torch.ones(2, 1), torch.ones(2, 1), bag, 3)
    assert mixed.flatten().tolist() == [0, 2, 0]


def test_a_bag_starts_where_the_one_before_it_ends() -> None:
    assert bag_starts(torch.tensor([0, 0, 2, 2, 2]), 4).tolist() == [0, 2, 2, 5, 5]
