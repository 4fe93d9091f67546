from itertools import permutations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from explain.cases import Case, make_case, over_gaps, over_variants, plain_value, widen_gaps
from explain.mean_aggregator import make_mean_case
from model.variants import VARIANTS
from sayso.explain import shapley as module
from sayso.explain.base import empty_bag_logits
from sayso.explain.shapley import prefix_logits, shapley, shapley_with_error
from sayso.features.batch import BagIndex
from sayso.model.extractor import ModelConfig


def over_all_orders(case: Case) -> Tensor:
    """The definition: what each sentence adds when it joins, averaged over all orders."""
    extractor, vector_ND, bags = case
    score_NR = torch.zeros(len(vector_ND), 5, dtype=torch.float64)
    for bag in range(bags.num_bags):
        rows = (bags.bag_N == bag).nonzero()[:, 0].tolist()
        orders = list(permutations(rows))
        for order in orders:
            for place, row in enumerate(order):
                before, after = (plain_value(extractor, vector_ND[[*order[:n]]], bags, bag) for n in (place, place + 1))
                score_NR[row] += (after - before) / len(orders)
    return score_NR


def gain_of(case: Case) -> Tensor:
    extractor, vector_ND, bags = case
    return (extractor.classify(vector_ND, bags) - empty_bag_logits(extractor, bags)).detach()


def sums_of(score_NR: Tensor, case: Case) -> Tensor:
    return torch.stack([score_NR[case[2].bag_N == b].sum(0) for b in range(case[2].num_bags)])


@over_variants
def test_small_bags_equal_the_mean_over_all_orders(config: ModelConfig) -> None:
    case = make_case(config, [1, 4, 2])
    score_NR, error_NR = shapley_with_error(*case)
    torch.testing.assert_close(score_NR, over_all_orders(case), atol=1e-9, rtol=1e-9)
    assert not error_NR.any()


@settings(max_examples=15)
@given(st.lists(st.integers(1, 13), min_size=1, max_size=4), st.integers(0, 99), st.sampled_from([*VARIANTS]))
def test_a_bags_scores_sum_to_what_its_sentences_add_to_the_empty_bag(sizes: list[int], seed: int, name: str) -> None:
    case = make_case(VARIANTS[name], sizes, seed)
    score_NR = shapley_with_error(*case, num_pairs=2).score_NR
    torch.testing.assert_close(sums_of(score_NR, case), gain_of(case), atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("name", ["attention", "direct+E"])
def test_random_orders_are_as_close_to_the_exact_scores_as_their_error_says(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = make_case(VARIANTS[name], [8])
    exact = shapley(*case)
    monkeypatch.setattr(module, "LARGEST_EXACT", 4)
    score_NR, error_NR = shapley_with_error(*case, num_pairs=200)
    distance_NR = (score_NR - exact).abs() / error_NR.clamp(min=1e-12)
    assert distance_NR.any()
    assert float(distance_NR.max()) < 4.5
    assert 0.5 < float(distance_NR.square().mean()) < 2.0


def test_more_orders_err_less() -> None:
    case = make_case(VARIANTS["attention"], [14])
    few, many = (shapley_with_error(*case, num_pairs=n).error_NR.mean() for n in (10, 160))
    assert 0.15 < float(many / few) < 0.4


def test_the_seed_decides_the_orders() -> None:
    case = make_case(VARIANTS["attention"], [12])
    first, again, other = (shapley_with_error(*case, num_pairs=4, seed=seed).score_NR for seed in (1, 1, 2))
    assert first.equal(again)
    assert not first.equal(other)


ORDER_PL = torch.tensor([[2, 0, 3, 1], [1, 3, 0, 2], [0, 1, 2, 3]])


@over_variants
def test_running_sums_and_maxima_equal_running_the_model(config: ModelConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    case = make_case(config, [4])
    scanned = prefix_logits(*case, ORDER_PL)
    monkeypatch.setattr(module, "SCANS", {})
    torch.testing.assert_close(scanned, prefix_logits(*case, ORDER_PL), atol=1e-9, rtol=1e-9)


@over_gaps
@pytest.mark.parametrize("name", ["attention", "attention+E"])
def test_wide_gaps_between_scores_make_no_difference(name: str, gap: float, monkeypatch: pytest.MonkeyPatch) -> None:
    extractor, vector_ND, bags = widen_gaps(make_case(VARIANTS[name], [4], ties=False), gap)
    scanned = prefix_logits(extractor.float(), vector_ND.float(), bags, ORDER_PL)
    monkeypatch.setattr(module, "SCANS", {})
    expected = prefix_logits(extractor.double(), vector_ND, bags, ORDER_PL)
    torch.testing.assert_close(scanned, expected, atol=1e-4, rtol=1e-3)


def test_the_last_set_of_an_order_is_the_bag() -> None:
    extractor, vector_ND, _ = make_mean_case()
    zero = torch.zeros(1, dtype=torch.long)
    bags = BagIndex(bag_N=torch.zeros(4, dtype=torch.long), head_B=zero, tail_B=zero)
    logit_PLR = prefix_logits(extractor, vector_ND[:4], bags, ORDER_PL)
    expected = extractor.classify(vector_ND[:4], bags).expand(3, -1)
    torch.testing.assert_close(logit_PLR[:, -1], expected)
