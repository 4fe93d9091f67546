import numpy as np
import pytest
import torch

from sayso import memory
from sayso.embeddings.graph import number_facts
from sayso.embeddings.transe import TransESettings, _cross_entropy, train_transe
from sayso.errors import BadConfigError, BadInputError, UserError
from sayso.records import Triple


def quiet(_epoch):
    pass


def town():
    """Forty people, five clubs, six equivalent relations: each fact can be predicted from the others."""
    return number_facts(Triple(f"p{i}", f"r{k}", f"club{i % 5}") for i in range(40) for k in range(6))


def test_held_out_facts_of_a_regular_world_are_predicted():
    vectors = train_transe(town(), TransESettings(width=8, epochs=12, batch=64, num_negatives=32, device="cpu"), quiet)
    assert vectors.num_held_out == 4
    # By chance the mean reciprocal rank among 45 entities is about 0.1.
    assert vectors.held_out_mrr > 0.6


def test_the_same_seed_gives_the_same_vectors_and_another_does_not():
    short = {"width": 8, "epochs": 3, "batch": 32, "device": "cpu"}
    first, second, other = (train_transe(town(), TransESettings(seed=seed, **short), quiet) for seed in (1, 1, 2))
    assert first.entity_ED.tobytes() == second.entity_ED.tobytes()
    assert first.entity_ED.tobytes() != other.entity_ED.tobytes()


def test_vectors_that_do_not_fit_into_memory_are_refused(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 1_000)
    with pytest.raises(UserError, match=r"vectors of width 8 for 45 entities need about .* of memory"):
        train_transe(town(), TransESettings(width=8, device="cpu"), quiet)


def test_entities_have_length_one_on_average():
    vectors = train_transe(town(), TransESettings(width=8, epochs=2, device="cpu"), quiet)
    assert vectors.entity_ED.shape == (45, 8)
    assert vectors.relation_RD.shape == (6, 8)
    assert np.linalg.norm(vectors.entity_ED, axis=1).mean() == pytest.approx(1, abs=1e-5)


def test_training_stops_when_ranks_no_longer_rise_and_keeps_the_best_epoch():
    seen = []
    settings = TransESettings(width=4, epochs=200, patience=2, num_negatives=8, device="cpu")
    vectors = train_transe(town(), settings, seen.append)
    mrrs = [epoch.held_out_mrr for epoch in seen]
    assert len(seen) < 200
    assert vectors.best_epoch == len(seen) - 2 == mrrs.index(max(mrrs)) + 1
    assert vectors.held_out_mrr == pytest.approx(max(mrrs))


def test_a_graph_too_small_to_hold_facts_out_is_trained_all_the_same():
    vectors = train_transe(number_facts([Triple("a", "r", "b")]), TransESettings(epochs=2, device="cpu"), quiet)
    assert np.isnan(vectors.held_out_mrr)
    assert vectors.best_epoch == 2
    assert np.isfinite(vectors.entity_ED).all()


def test_the_loss_is_cross_entropy_over_negated_distances():
    random = torch.Generator().manual_seed(0)
    query, answer, wrong = (torch.randn((n, 3), generator=random, dtype=torch.float64) for n in (2, 2, 4))
    is_right = torch.tensor([[False] * 4, [True, False, False, False]])
    expected = 0.0
    for b in range(2):
        scores = [-torch.dist(query[b], answer[b])]
        scores += [-torch.dist(query[b], wrong[c]) for c in range(4) if not is_right[b, c]]
        expected -= torch.stack(scores).log_softmax(0)[0]
    assert torch.allclose(_cross_entropy(query, answer, wrong, is_right), expected)


def test_an_answer_met_exactly_has_a_finite_gradient():
    query = torch.ones((1, 3), requires_grad=True)
    _cross_entropy(query, torch.ones((1, 3)), torch.ones((2, 3)), torch.tensor([[True, False]])).backward()
    assert query.grad is not None
    assert torch.isfinite(query.grad).all()


def test_no_facts_are_a_clear_error():
    with pytest.raises(BadInputError, match="no facts to train on"):
        train_transe(number_facts([]), TransESettings(device="cpu"), quiet)


@pytest.mark.parametrize("setting", [{"width": 0}, {"epochs": 0}, {"num_negatives": -1}])
def test_settings_out_of_range_are_refused(setting):
    with pytest.raises(BadConfigError, match="must be from 1 to"):
        TransESettings(**setting)


def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(BadConfigError, match="unknown device 'tpu'"):
        train_transe(town(), TransESettings(device="tpu"), quiet)
    if not torch.cuda.is_available():
        with pytest.raises(BadConfigError, match="no GPU found"):
            train_transe(town(), TransESettings(device="cuda"), quiet)
