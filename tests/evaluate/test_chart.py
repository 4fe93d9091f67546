import xml.etree.ElementTree as ElementTree

from sayso.evaluate.chart import Bar, Series, bar_chart, legend, line_chart


def test_charts_are_well_formed_whatever_the_names() -> None:
    lines = line_chart([Series("a < b & c", [0.0, 1.0], [1.0, 0.5])], "x <", "y &", 'about "it"')
    bars = bar_chart([Bar("gradient <x> input", "a < b", 0.5, 0.2, 0.7)], ["a < b"], "τ", "bars")
    for chart in (lines, bars, legend(["a < b & c"])):
        ElementTree.fromstring(chart)


def test_a_missing_figure_is_a_dash_without_a_bar() -> None:
    chart = bar_chart([Bar("attention", "run", None)], ["run"], "τ", "bars")
    assert "<rect" not in chart
    assert ">–</text>" in chart


def test_negative_bars_hang_below_zero() -> None:
    def top(value: float) -> float:
        rect = ElementTree.fromstring(bar_chart([Bar("m", "run", value)], ["run"], "τ", "bars")).find("rect")
        assert rect is not None
        return float(rect.attrib["y"])

    assert top(0.5) < top(-0.5)


def test_a_curve_without_points_is_still_a_chart() -> None:
    ElementTree.fromstring(line_chart([Series("nothing", [], [])], "recall", "precision", "empty", diagonal=True))
