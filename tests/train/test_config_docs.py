"""The page on training names every setting."""

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from sayso.model.extractor import KINDS
from sayso.train.config import RunConfig

PAGE = (Path(__file__).parents[2] / "docs" / "training.md").read_text()


def settings_of(kind: Any, prefix: str = "") -> Iterator[str]:
    """Yield the full name of every setting, those of every kind of component included."""
    for field in fields(kind):
        hint, name = get_type_hints(kind)[field.name], f"{prefix}{field.name}"
        if hint in KINDS:
            yield f"{name}.kind"
            for chosen, settings in KINDS[hint].items():
                yield from settings_of(settings, f"{name}.{chosen}.")
        elif is_dataclass(hint):
            yield from settings_of(hint, f"{name}.")
        else:
            yield name


@pytest.mark.parametrize("name", [*settings_of(RunConfig)])
def test_the_page_has_a_row_for_the_setting(name: str) -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("|")]
    assert any(f"`{name}`" in row.split("|")[1] for row in rows)


def test_the_page_names_no_setting_that_is_not_there() -> None:
    named = re.findall(r"`((?:data|model|loss|train)\.[\w.]+)`", PAGE)
    assert set(named) <= set(settings_of(RunConfig))
