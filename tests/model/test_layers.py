import pytest
import torch

from sayso.model.layers import LibraryDropout, TokenDropout


def make_dropout(rate: float, seed: int = 0) -> TokenDropout:
    dropout = TokenDropout(rate)
    dropout.generator = torch.Generator().manual_seed(seed)
    return dropout


def test_the_share_dropped_is_the_rate_and_the_mean_stays() -> None:
    kept = make_dropout(0.1)(torch.ones(400, 501))
    assert float((kept == 0).float().mean()) == pytest.approx(0.1, abs=0.005)
    assert float(kept.mean()) == pytest.approx(1.0, abs=0.005)
    assert kept.unique().tolist() == pytest.approx([0.0, 1 / 0.9], rel=1e-4)


def test_a_saved_generator_state_gives_the_same_draws_again() -> None:
    dropout = make_dropout(0.5)
    dropout(torch.ones(7))
    assert dropout.generator is not None
    state = dropout.generator.get_state()
    first = dropout(torch.ones(33))
    dropout.generator.set_state(state)
    assert dropout(torch.ones(33)).equal(first)
    assert not dropout(torch.ones(33)).equal(first)


def test_the_global_generator_is_left_alone() -> None:
    before = torch.random.get_rng_state()
    make_dropout(0.5)(torch.ones(100))
    assert torch.random.get_rng_state().equal(before)


def test_nothing_is_dropped_in_evaluation_or_at_rate_zero() -> None:
    value = torch.ones(100)
    assert make_dropout(0.0)(value) is value
    assert make_dropout(0.5).eval()(value) is value


def test_a_networks_dropout_is_torchs_but_for_the_draws() -> None:
    dropout = LibraryDropout(0.1)
    torch.manual_seed(3)
    first = dropout(torch.ones(400, 501))
    assert float((first == 0).float().mean()) == pytest.approx(0.1, abs=0.005)
    assert float(first.mean()) == pytest.approx(1.0, abs=0.005)
    torch.manual_seed(3)
    assert dropout(torch.ones(400, 501)).equal(first)
    assert dropout(torch.ones(5, dtype=torch.bfloat16)).dtype == torch.bfloat16
    assert dropout.eval()(torch.ones(100)).equal(torch.ones(100))
