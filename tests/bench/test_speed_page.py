"""docs/speed.md agrees with the committed measurements."""

from script import ROOT, load


def test_the_page_is_made_from_the_committed_figures() -> None:
    maker = load("docs/make_speed.py")
    assert (ROOT / "docs" / "speed.md").read_text() == maker.page(), "run `make docs`"
    for axis in maker.AXES:
        assert (ROOT / "docs" / maker.plot_name(axis)).exists()
    assert maker.slope([{"size": 10, "seconds": 2.0}, {"size": 100, "seconds": 20.0}], "seconds") == 1.0
