"""The page of results says what the committed runs say."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_page_is_made_from_the_committed_runs() -> None:
    spec = importlib.util.spec_from_file_location("make_results", ROOT / "docs" / "make_results.py")
    assert spec
    assert spec.loader
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    assert (ROOT / "docs" / "results.md").read_text() == maker.page(), "run `make docs`"
