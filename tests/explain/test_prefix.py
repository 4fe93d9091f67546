import pytest
import torch

from explain.cases import make_case, over_gaps, over_variants, widen_gaps
from explain.mean_aggregator import make_mean_case
from model.variants import VARIANTS
from sayso.explain import prefix
from sayso.explain.prefix import prefix_logits
from sayso.features.batch import BagIndex
from sayso.model.extractor import ModelConfig

ORDER_PL = torch.tensor([[2, 0, 3, 1], [1, 3, 0, 2], [0, 1, 2, 3]])


@over_variants
def test_running_sums_and_maxima_equal_running_the_model(config: ModelConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    case = make_case(config, [4])
    scanned = prefix_logits(*case, ORDER_PL)
    monkeypatch.setattr(prefix, "SCANS", {})
    torch.testing.assert_close(scanned, prefix_logits(*case, ORDER_PL), atol=1e-9, rtol=1e-9)


@over_gaps
@pytest.mark.parametrize("name", ["attention", "attention+E"])
def test_wide_gaps_between_scores_make_no_difference(name: str, gap: float, monkeypatch: pytest.MonkeyPatch) -> None:
    extractor, vector_ND, bags = widen_gaps(make_case(VARIANTS[name], [4], ties=False), gap)
    scanned = prefix_logits(extractor.float(), vector_ND.float(), bags, ORDER_PL)
    monkeypatch.setattr(prefix, "SCANS", {})
    expected = prefix_logits(extractor.double(), vector_ND, bags, ORDER_PL)
    torch.testing.assert_close(scanned, expected, atol=1e-4, rtol=1e-3)


def test_the_last_set_of_an_order_is_the_bag() -> None:
    extractor, vector_ND, _ = make_mean_case()
    zero = torch.zeros(1, dtype=torch.long)
    bags = BagIndex(bag_N=torch.zeros(4, dtype=torch.long), head_B=zero, tail_B=zero)
    logit_PLR = prefix_logits(extractor, vector_ND[:4], bags, ORDER_PL)
    expected = extractor.classify(vector_ND[:4], bags).expand(3, -1)
    torch.testing.assert_close(logit_PLR[:, -1], expected)
