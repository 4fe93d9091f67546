"""The page of speeds says what the committed figures say."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_the_page_is_made_from_the_committed_figures() -> None:
    spec = importlib.util.spec_from_file_location("make_speed", ROOT / "docs" / "make_speed.py")
    assert spec
    assert spec.loader
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    assert (ROOT / "docs" / "speed.md").read_text() == maker.page(), "run `make docs`"
    for axis in maker.AXES:
        assert (ROOT / "docs" / maker.plot_name(axis)).exists()
    assert maker.slope([{"size": 10, "seconds": 2.0}, {"size": 100, "seconds": 20.0}], "seconds") == 1.0
