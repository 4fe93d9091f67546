"""Every number in every settings dataclass has a range, which is checked wherever the number comes from."""

import importlib
import math
import re
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

import pytest

import sayso
from sayso.config import Range, fill, to_table
from sayso.errors import BadConfigError
from sayso.model.extractor import KINDS
from sayso.train.config import RunConfig

SOURCE = Path(sayso.__file__).parent
# What has no default, of the settings that have such fields.
REQUIRED: dict[str, dict[str, Any]] = {
    "ProjectSettings": {"documents": "articles", "kb": "kb.tsv"},
    "ServeSettings": {"data": Path("store"), "database": Path("marks.db")},
}


def settings_classes() -> Iterator[type]:
    """Yield every dataclass of the package that is called Settings or Config."""
    for path in sorted(SOURCE.rglob("*.py")):
        for name in re.findall(r"^class (\w+(?:Settings|Config))\b", path.read_text(), re.MULTILINE):
            module = ".".join(("sayso", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
            yield getattr(importlib.import_module(module), name)


class Number(NamedTuple):
    """A numeric field: its class, its name, and its annotated type."""

    kind: type
    name: str
    hint: Any

    @property
    def is_tuple(self) -> bool:
        return get_origin(self.hint) is tuple

    @property
    def range(self) -> Range | None:
        hint = get_args(self.hint)[0] if self.is_tuple else self.hint
        return next((extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, Range)), None)

    def outside(self) -> list[float]:
        """Return values beyond both ends of the range, and NaN."""
        found = self.range
        assert found is not None
        beyond = [found.least - 1, found.most + 1 if found.most < 1e15 else 2 * found.most, found.most * 1e9 + 1e9]
        ends = [found.least] * found.above + [found.most] * found.below
        is_float = "float" in repr(self.hint)
        return (
            [*beyond, *ends, math.inf, -math.inf, math.nan] if is_float else [int(value) for value in [*beyond, *ends]]
        )


def numbers() -> Iterator[Number]:
    for kind in settings_classes():
        hints = get_type_hints(kind, include_extras=True)
        for field in fields(kind):
            if re.search(r"\b(int|float)\b", repr(hints[field.name])):
                yield Number(kind, field.name, hints[field.name])


NUMBERS = list(numbers())
over_numbers = pytest.mark.parametrize("number", NUMBERS, ids=[f"{each.kind.__name__}.{each.name}" for each in NUMBERS])


def test_the_settings_are_found() -> None:
    assert {"RunConfig", "TrainConfig", "CnnConfig", "ExtractSettings", "InventSettings"} <= {
        kind.__name__ for kind in settings_classes()
    }


@over_numbers
def test_it_has_a_range_that_holds_its_default(number: Number) -> None:
    assert number.range is not None
    default = getattr(number.kind(**REQUIRED.get(number.kind.__name__, {})), number.name)
    assert all(number.range.holds(value) for value in (default if number.is_tuple else (default,)))


@over_numbers
def test_a_value_outside_is_refused_in_one_line_with_the_range(number: Number) -> None:
    settings = number.kind(**REQUIRED.get(number.kind.__name__, {}))
    for value in number.outside():
        with pytest.raises(BadConfigError) as refusal:
            replace(settings, **{number.name: (value,) if number.is_tuple else value})
        message = str(refusal.value)
        assert message.startswith(f"{number.name} is ")
        assert message.endswith(f"; it must be {number.range}")
        assert "\n" not in message
        assert len(message) < 200


def run_settings() -> Iterator[tuple[str, Number]]:
    """Yield the full name of every number of a run's settings, those of every kind of component included."""
    places = {"": RunConfig} | {f"{name}.": hint for name, hint in get_type_hints(RunConfig).items() if name != "seed"}
    for base, classes in KINDS.items():
        part = {"EncoderConfig": "encoder", "AggregatorConfig": "aggregator"}[base.__name__]
        places |= {f"model.{part}.{kind}.": settings for kind, settings in classes.items()}
    for prefix, kind in places.items():
        yield from ((prefix, number) for number in NUMBERS if number.kind is kind)


@pytest.mark.parametrize(("prefix", "number"), [*run_settings()], ids=lambda x: x.name if isinstance(x, Number) else x)
def test_a_tables_value_outside_is_refused_by_its_full_name(prefix: str, number: Number) -> None:
    for value in number.outside():
        table: dict[str, Any] = {}
        inner, names = table, [name for name in prefix.split(".") if name]
        for place, name in enumerate(names):
            inner = inner.setdefault(name, {} if place != 1 else {"kind": names[2]})
        inner[number.name] = [value] if number.is_tuple else value
        with pytest.raises(BadConfigError, match=re.escape(f"{prefix}{number.name} is ")):
            fill(RunConfig, table, KINDS)


def test_settings_within_their_ranges_read_back() -> None:
    assert fill(RunConfig, to_table(RunConfig(), KINDS), KINDS) == RunConfig()
