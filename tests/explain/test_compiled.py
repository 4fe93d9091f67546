from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from explain.cases import make_case, over_gaps, over_variants, widen_gaps
from model.variants import VARIANTS
from sayso.explain.leave_one_out import plain_removal_losses, removal_of
from sayso.explain.saliency import plain_gradient_norms
from sayso.model.extractor import ModelConfig
from toy_batch import torch_threads

pytest.importorskip("numba")
from sayso.explain import compiled as module
from sayso.explain.compiled import gradient_norms, removal_losses

any_bags = st.lists(st.integers(1, 6), min_size=1, max_size=5)
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}
over_dtypes = pytest.mark.parametrize("dtype", TOLERANCE, ids=str)


@pytest.fixture(autouse=True)
def two_threads():
    with torch_threads(2):
        yield


def assert_same(found, expected) -> None:
    assert found.dtype == expected.dtype
    tolerance = TOLERANCE[expected.dtype]
    torch.testing.assert_close(found, expected, atol=tolerance * float(expected.abs().max()), rtol=tolerance)


@torch.no_grad()
def compare_norms(config: ModelConfig, sizes: list[int], seed: int, dtype: torch.dtype) -> None:
    extractor, vector_ND, bags = make_case(config, sizes, seed)
    extractor, vector_ND = extractor.to(dtype), vector_ND.to(dtype)
    parts = extractor.aggregator.influence(vector_ND, bags, extractor.scorer)
    parts = replace(parts, pulls=parts.pulls[:1])  # more than one is not compiled
    assert_same(gradient_norms(parts, bags), plain_gradient_norms(parts, bags))


@torch.no_grad()
def compare_losses(case, dtype: torch.dtype) -> None:
    extractor, vector_ND, bags = case
    extractor, vector_ND = extractor.to(dtype), vector_ND.to(dtype)
    entity = extractor.scorer.entity
    removal = removal_of(extractor.aggregator.own_score(vector_ND, extractor.scorer), bags)
    projected = entity.project_text(vector_ND), entity.project_pair(bags), extractor.scorer.relation_RD
    assert_same(removal_losses(removal, *projected, bags), plain_removal_losses(removal, *projected, bags))


@over_dtypes
@settings(max_examples=15, deadline=None)
@given(sizes=any_bags, seed=st.integers(0, 1000), name=st.sampled_from([*VARIANTS]))
def test_gradient_norms_equal_those_of_torch(dtype: torch.dtype, sizes: list[int], seed: int, name: str) -> None:
    compare_norms(VARIANTS[name], sizes, seed, dtype)


@over_variants
def test_one_bag_at_a_time_gives_the_same_norms(config: ModelConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "VALUES_AT_A_TIME", 1)
    compare_norms(config, [2, 1, 5, 3], 7, torch.float64)


@over_dtypes
@settings(max_examples=15, deadline=None)
@given(sizes=any_bags, seed=st.integers(0, 1000))
def test_losses_by_removal_equal_those_of_torch(dtype: torch.dtype, sizes: list[int], seed: int) -> None:
    compare_losses(make_case(VARIANTS["attention+E"], sizes, seed), dtype)


@over_dtypes
@over_gaps
def test_losses_by_removal_equal_those_of_torch_where_one_sentence_dominates(dtype: torch.dtype, gap: float) -> None:
    compare_losses(widen_gaps(make_case(VARIANTS["attention+E"], ties=False), gap), dtype)


@pytest.mark.parametrize("name", ["saliency", "leave_one_out"])
@over_variants
def test_nan_is_kept(name: str, config: ModelConfig) -> None:
    from sayso.explain import EXPLAINERS

    extractor, vector_ND, bags = make_case(config, [2, 3], ties=False)
    vector_ND[0] = torch.nan
    with torch.no_grad():
        score_NR = EXPLAINERS[name].explain(extractor, vector_ND, bags)
    assert bool(score_NR[0].isnan().all())
    assert bool(score_NR[2:].isfinite().all())
