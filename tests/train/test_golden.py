import json
from pathlib import Path

import pytest

from train.golden_run import GOLDEN, golden_figures


def test_the_toy_run_gives_the_numbers_it_gave_before(store: Path, tmp_path: Path) -> None:
    """A change that should alter them runs golden_run.py in the same commit and says why.

    Not bit for bit: another machine's matrix products may add up in another order.
    """
    expected, found = json.loads(GOLDEN.read_text()), golden_figures(store, tmp_path)
    assert found.keys() == expected.keys()
    for variant, epochs in expected.items():
        for now, before in zip(found[variant], epochs, strict=True):
            assert now == pytest.approx(before, rel=1e-6)
