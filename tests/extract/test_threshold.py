from pathlib import Path

import numpy as np
import pytest

from sayso.errors import UserError
from sayso.extract.threshold import choose_on_validation, choose_threshold


def test_the_lowest_threshold_with_the_precision_is_chosen() -> None:
    probability_BR = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]])
    label_BR = np.array([[1, 0], [0, 0], [1, 0]])
    chosen = choose_threshold(probability_BR, label_BR, wanted=0.6)
    assert (chosen.threshold, chosen.num_facts, chosen.precision, chosen.recall) == (0.7, 3, 2 / 3, 1.0)
    assert choose_threshold(probability_BR, label_BR, wanted=1.0).threshold == 0.9


def test_the_text_says_what_was_measured_and_that_new_facts_will_be_less_precise() -> None:
    label_BR = np.array([[1, 0], [0, 0], [1, 0], [0, 0]])
    chosen = choose_threshold(np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.1, 0.1]]), label_BR, wanted=0.6)
    assert chosen.text.startswith(
        "threshold 0.700: precision 0.67 and recall 1.00 on the 4 validation pairs, 50 % of them NA (3 facts); "
    )
    assert "not the precision of new facts, which will be lower" in chosen.limits
    record = chosen.to_dict()
    assert (record["measured_on"], record["num_na_pairs"], record["na_share"]) == ("validation pairs", 2, 0.5)
    assert record["limits"] == chosen.limits
    assert not any("expect" in name for name in record)


def test_an_unreachable_precision_is_reported_with_the_best_one() -> None:
    with pytest.raises(ValueError, match=r"no threshold has a precision of 0\.9 .* the best is 0\.50"):
        choose_threshold(np.array([[0.9], [0.9], [0.1]]), np.array([[1], [0], [0]]), wanted=0.9)
    with pytest.raises(ValueError, match="it has no facts"):
        choose_threshold(np.array([[0.9]]), np.array([[0]]), wanted=0.0)


def test_the_held_out_precision_is_lower_than_the_wanted_one() -> None:
    """Labels are independent of the scores: the chosen precision is chance and does not carry over to other pairs."""
    rng = np.random.default_rng(3)
    label_BR = rng.random((300, 1)) < 0.5
    chosen = choose_threshold(rng.random((300, 1)), label_BR, wanted=0.7)
    assert chosen.precision >= 0.7
    assert chosen.held_out_precision is not None
    assert chosen.interval is not None
    assert chosen.held_out_precision < 0.55
    assert chosen.interval.low < 0.5 < chosen.interval.high


def test_with_calibrated_scores_the_held_out_precision_is_right() -> None:
    probability_BR = np.random.default_rng(5).random((2_000, 2))
    label_BR = np.random.default_rng(6).random((2_000, 2)) < probability_BR
    chosen = choose_threshold(probability_BR, label_BR, wanted=0.8)
    assert chosen.held_out_precision == pytest.approx(0.8, abs=0.03)
    assert chosen.interval is not None
    assert chosen.interval.low < 0.8 < chosen.interval.high


def test_it_is_chosen_on_the_validation_part(run: Path, store: Path) -> None:
    chosen = choose_on_validation(run, store, wanted=0.01)
    assert (chosen.num_pairs, chosen.recall) == (22, 1.0)
    with pytest.raises(UserError, match=r"run: no threshold has a precision of 1"):
        choose_on_validation(run, store, wanted=1.0)
