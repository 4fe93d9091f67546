from typing import Any

import pytest

from sayso.errors import BadConfigError
from sayso.invent.settings import SIZES, InventSettings


def test_the_large_size_has_as_many_sentences_as_fb_nyt() -> None:
    assert SIZES["fbnyt"][:2] == (522_611, 172_448)


@pytest.mark.parametrize(
    ("changes", "about"),
    [
        ({"na_share": 1.0}, "na_share is 1.0"),
        ({"irrelevant_share": -0.1}, "irrelevant_share is -0.1"),
        ({"name_shortcut": 1.5}, "name_shortcut is 1.5"),
        ({"unseen_wording_share": 0.95}, "unseen_wording_share is 0.95"),
        ({"test_sentences": 3}, "test_sentences is 3"),
        ({"documents": -1}, "documents is -1"),
        ({"na_share": float("nan")}, "na_share is nan"),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(changes: dict[str, Any], about: str) -> None:
    with pytest.raises(BadConfigError, match=about):
        InventSettings.of_size("toy", **changes)


def test_an_unknown_size_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(BadConfigError, match="toy, demo, fbnyt"):
        InventSettings.of_size("huge")
