import json
from pathlib import Path

import pytest

from train.golden_run import GOLDEN, golden_figures


def test_the_toy_run_gives_the_numbers_it_gave_before(store: Path, tmp_path: Path) -> None:
    """A change that should alter them regenerates them with golden_run.py in the same commit and says why.

    Compared with a tolerance: on a different machine, matrix products may be summed in a different order.
    """
    expected, found = json.loads(GOLDEN.read_text()), golden_figures(store, tmp_path)
    assert found.keys() == expected.keys()
    for variant, epochs in expected.items():
        for now, before in zip(found[variant], epochs, strict=True):
            assert now == pytest.approx(before, rel=1e-6)
