"""The numbers in docs/scale.md are those of bench/scale.json."""

import json

from script import ROOT, load


def test_the_page_has_the_figures_that_were_measured_and_nothing_else() -> None:
    maker = load("docs/make_scale.py")
    assert (ROOT / "docs" / "scale.md").read_text() == maker.page(), "run `python docs/make_scale.py`"


def test_every_stage_was_measured_with_every_engine() -> None:
    stages = json.loads((ROOT / "bench" / "scale.json").read_text())["stages"]
    assert set(stages) == {"build", "gather", "predict"}
    assert all(list(each) == ["this process", "Ray, 1 worker", "Ray, 2 workers"] for each in stages.values())
