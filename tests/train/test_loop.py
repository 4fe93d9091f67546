import pytest
import torch

from sayso.train.epoch import ProcessShard
from sayso.train.loop import LossTally, TrainingError, refuse_growth


def tally_of(*rows: tuple[float, float, float, int], epoch: int = 3) -> LossTally:
    """Return a tally of batches, each given as bag term, sentence term, gradient norm and number of bags."""
    tally = LossTally(epoch, ProcessShard())
    for bag, sentence, norm, num_bags in rows:
        tally.add({"bag": torch.tensor(bag), "sentence": torch.tensor(sentence)}, torch.tensor(norm), num_bags)
    return tally


def test_a_batch_counts_by_its_bags() -> None:
    assert tally_of((1.0, 2.0, 9.0, 30), (5.0, 6.0, 9.0, 10)).means() == {"bag": 2.0, "sentence": 3.0}


@pytest.mark.parametrize("number", [1, 49, 50, 51, 120])
def test_the_first_batch_with_nan_is_named(number: int) -> None:
    rows = [(1.0, 1.0, 1.0, 1)] * (number - 1) + [(1.0, float("nan"), 1.0, 1)] * 3
    with pytest.raises(TrainingError) as error:
        tally_of(*rows).means()
    assert f"epoch 3, batch {number}: the sentence term of the loss is nan" in str(error.value)
    assert "the state after epoch 2 is kept" in str(error.value)


def test_a_gradient_that_is_not_finite_is_named_though_the_loss_is() -> None:
    with pytest.raises(TrainingError, match="batch 2: the norm of the gradient is inf; no epoch was finished"):
        tally_of((1.0, 1.0, 1.0, 1), (1.0, 1.0, float("inf"), 1), epoch=1).means()


def test_a_loss_a_thousand_times_the_first_has_diverged() -> None:
    refuse_growth(1, 3_000.0, at_first=3.0)
    refuse_growth(1, 1_000.0, at_first=0.001)
    with pytest.raises(TrainingError, match=r"epoch 3, loss 1e\+16: training has diverged \(the initial loss was 3"):
        refuse_growth(3, 1e16, at_first=3.0)


def test_the_first_loss_is_the_sum_of_the_first_batchs_terms() -> None:
    assert tally_of((1.0, 2.0, 9.0, 30), (5.0, 6.0, 9.0, 10)).first == 3.0
