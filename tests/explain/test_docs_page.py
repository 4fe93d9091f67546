"""The page on explanations names every explainer, with its properties as the code has them."""

from pathlib import Path

import pytest

from sayso.explain import EXPLAINERS

PAGE = Path(__file__).parents[2] / "docs" / "explanations.md"


@pytest.mark.parametrize("name", EXPLAINERS)
def test_every_explainer_has_a_heading_and_a_true_row(name: str) -> None:
    lines, explainer = PAGE.read_text().splitlines(), EXPLAINERS[name]
    is_signed, needs_gradient = ("yes" if flag else "no" for flag in (explainer.is_signed, explainer.needs_gradient))
    assert f"## `{name}`" in lines
    assert f"| `{name}` | {explainer.about} | {is_signed} | {needs_gradient} |" in lines
