import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sayso.model.ragged import bag_match, bag_mix
from toy_batch import make_bags

pytest.importorskip("numba")
from sayso.model.kernels.gate import gated_match, mixed_gate, mixed_score

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}
any_bags = st.lists(st.integers(1, 6), min_size=1, max_size=5)


def draw(seed: int, dtype: torch.dtype, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@settings(max_examples=25, deadline=None)
@given(sizes=any_bags, seed=st.integers(0, 1000))
def test_they_equal_operations_of_torch(dtype: torch.dtype, sizes: list[int], seed: int) -> None:
    bags, num = make_bags(sizes), sum(sizes)
    weight_NR, text_ND = draw(seed, dtype, num, 3).abs(), draw(seed + 1, dtype, num, 7)
    pair_BD, relation_RD = draw(seed + 2, dtype, len(sizes), 7), draw(seed + 3, dtype, 3, 7)
    state_BRD = bag_mix(weight_NR, text_ND, bags.bag_N, len(sizes)) + pair_BD[:, None]
    is_on_BRD = mixed_gate(weight_NR, text_ND, pair_BD, bags)
    # Next to zero rounding decides.
    assert bool(((is_on_BRD == (state_BRD > 0)) | (state_BRD.abs() < TOLERANCE[dtype])).all())
    tolerance = {"atol": 10 * TOLERANCE[dtype], "rtol": TOLERANCE[dtype]}
    score_BR = (state_BRD.relu() * relation_RD).sum(2)
    torch.testing.assert_close(mixed_score(weight_NR, text_ND, pair_BD, relation_RD, bags), score_BR, **tolerance)
    match_NR = bag_match(text_ND, is_on_BRD * relation_RD, bags.bag_N)
    torch.testing.assert_close(gated_match(text_ND, is_on_BRD, relation_RD, bags), match_NR, **tolerance)


def test_a_bag_without_sentences_has_its_pair_alone() -> None:
    bags = make_bags([0, 1])
    weight_NR, text_ND = torch.ones(1, 1), torch.tensor([[-3.0, 3.0]])
    pair_BD, relation_RD = torch.tensor([[2.0, -2.0], [2.0, -2.0]]), torch.ones(1, 2)
    assert mixed_gate(weight_NR, text_ND, pair_BD, bags).tolist() == [[[True, False]], [[False, True]]]
    assert mixed_score(weight_NR, text_ND, pair_BD, relation_RD, bags).tolist() == [[2.0], [1.0]]


def test_nan_is_kept() -> None:
    nan = torch.tensor([[torch.nan]])
    assert mixed_score(torch.ones(1, 1), nan, torch.zeros(1, 1), torch.ones(1, 1), make_bags([1])).isnan().all()
