import pytest
import torch

from explain.cases import losses_by_removal, make_case, over_variants
from sayso.explain import removal
from sayso.explain.removal import leave_one_out_by_removal
from sayso.model.extractor import ModelConfig


@over_variants
def test_it_equals_removal_sentence_by_sentence(config: ModelConfig) -> None:
    case = make_case(config)
    torch.testing.assert_close(leave_one_out_by_removal(*case), losses_by_removal(*case), atol=1e-9, rtol=1e-9)


@over_variants
def test_one_removal_at_a_time_gives_the_same(config: ModelConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    case = make_case(config)
    at_once = leave_one_out_by_removal(*case)
    monkeypatch.setattr(removal, "SENTENCES_AT_A_TIME", 1)
    torch.testing.assert_close(leave_one_out_by_removal(*case), at_once)
