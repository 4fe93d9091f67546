"""Convert TOML to frozen dataclasses and back; errors about an unknown key or value suggest the closest match.

A component with several kinds is a TOML table with a `kind` key and a subtable, named after the kind, with its
settings; in the dataclass, the field is an instance of that kind's settings class.

Ranges are part of the type: `num_filters: Annotated[int, Range(1, 10_000)] = 100`. `fill` checks them for TOML, `--set`
and a model's config.json; `check_ranges`, called by `__post_init__`, checks values passed from Python.
"""

import difflib
import json
import math
import re
import reprlib
import tomllib
import types
import typing
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import fields, is_dataclass
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from sayso.errors import BadConfigError, BadInputError, option
from sayso.input_file import read_bytes

Config = TypeVar("Config")
Kinds = Mapping[type, Mapping[str, type]]
"""The kinds of each component: from the base class of its settings to the settings classes, by kind name."""
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = 80
_WORDS = {int: "an integer", float: "a number", str: "a string", bool: "true or false"}
"""Names of types in messages."""


class Range(NamedTuple):
    """An allowed range of numbers; `above` excludes the lower end, `below` the upper end.

    >>> str(Range(0, 1, below=True)), str(Range(1, 65_536)), str(Range(0, 1e30, above=True))
    ('at least 0 and below 1', 'from 1 to 65,536', 'above 0 and at most 1e+30')
    """

    least: float
    most: float
    above: bool = False
    below: bool = False

    def __str__(self) -> str:
        least, most = (f"{end:,}" if isinstance(end, int) else f"{end:g}" for end in (self.least, self.most))
        if self.above:
            return f"above {least} and {'below' if self.below else 'at most'} {most}"
        return f"at least {least} and below {most}" if self.below else f"from {least} to {most}"

    def holds(self, value: float) -> bool:
        """Return whether the value is in the range; NaN never is."""
        is_high_enough = self.least < value if self.above else self.least <= value
        return is_high_enough and (value < self.most if self.below else value <= self.most)


SEED = Range(-(2**63), 2**63 - 1)
SHARE = Range(0, 1)


class Option(NamedTuple):
    """The command-line option of a setting: its help and, if it is not derived from the field's name, its name."""

    help: str
    name: str = ""


def check_ranges(config: Any) -> None:
    """Raise `BadConfigError` if a number in a settings dataclass is out of range."""
    for name, hint in _hints(type(config)).items():
        value = getattr(config, name)
        for each in value if isinstance(value, tuple) else (value,):
            _check_range(hint, each, name)


def read_table(path: Path) -> dict[str, Any]:
    """Read a TOML file."""
    try:
        return tomllib.loads(read_bytes(path).decode("utf-8"))
    except BadInputError as error:
        raise BadConfigError(str(error)) from error
    except UnicodeDecodeError as error:
        raise BadConfigError(f"{path}: not UTF-8 text") from error
    except (ValueError, RecursionError) as error:  # an integer with thousands of digits, or lists nested that deep
        line = re.search(r" \(at line (\d+), column \d+\)$", str(error))
        where = f"{path}:{line[1]}" if line else str(path)
        raise BadConfigError(f"{where}: not TOML: {error}") from error


def apply_changes(table: dict[str, Any], changes: Iterable[str]) -> dict[str, Any]:
    """Return a copy of the table with overrides such as `a.b=c`; c is parsed as TOML, or else kept as a string."""
    changed, given = deepcopy(table), option("changes:", "--set")
    for change in changes:
        key, equals, text = change.partition("=")
        names = key.strip().split(".")
        if not equals or not all(names):
            raise BadConfigError(f"{given} {change}: expected name.of.setting=value")
        inner = changed
        for name in names[:-1]:
            inner = inner.setdefault(name, {})
            if not isinstance(inner, dict):
                raise BadConfigError(f"{given} {change}: {name} is not a group of settings")
        inner[names[-1]] = value = _value_of(text.strip())
        if isinstance(value, dict):  # it would replace the whole group
            raise BadConfigError(f"{given} {change}: set each value separately: {key.strip()}.NAME=value")
    return changed


def fill(kind: type[Config], table: Mapping[str, Any], kinds: Kinds, where: str = "", is_open: bool = False) -> Config:
    """Build a dataclass or named tuple from a table; missing keys keep their defaults.

    With `is_open`, unknown keys are ignored.
    """
    hints, known = _hints(kind), signature(kind).parameters
    for name in table:
        if name not in known and not is_open:
            raise BadConfigError(f"{where}{name}: no such setting{_nearest(name, known)}")
    values = {}
    for name, parameter in known.items():
        if name in table:
            values[name] = _filled(hints[name], table[name], kinds, f"{where}{name}")
        elif parameter.default is parameter.empty:
            raise BadConfigError(f"{where}{name}: missing")
    return kind(**values)


def to_table(config: Any, kinds: Kinds) -> dict[str, Any]:
    """Return all settings, defaults included, as nested tables that `fill` reads back."""
    table: dict[str, Any] = {}
    for field in fields(config):
        value = getattr(config, field.name)
        names = (name for classes in kinds.values() for name, kind in classes.items() if type(value) is kind)
        if kind := next(names, None):
            table[field.name] = {"kind": kind, kind: to_table(value, kinds)}
        elif is_dataclass(value):
            table[field.name] = to_table(value, kinds)
        else:
            table[field.name] = list(value) if isinstance(value, tuple) else value
    return table


def to_toml(table: Mapping[str, Any], prefix: str = "") -> str:
    """Return nested tables as TOML, plain values first."""
    lines = [
        f"{name} = {json.dumps(value, ensure_ascii=False)}"
        for name, value in table.items()
        if not isinstance(value, dict)
    ]
    for name, value in table.items():
        if isinstance(value, dict):
            lines += ["", f"[{prefix}{name}]", to_toml(value, f"{prefix}{name}.")]
    return "\n".join(lines).strip("\n") + ("\n" if not prefix else "")


def _filled(hint: Any, value: Any, kinds: Kinds, where: str) -> Any:
    if hint in kinds:
        return _filled_kind(kinds[hint], value, kinds, where)
    if is_dataclass(hint) or hasattr(hint, "_field_defaults"):
        return fill(typing.cast(type, hint), _as_table(value, where), kinds, f"{where}.")
    if typing.get_origin(hint) is Annotated:
        value = _filled(typing.get_args(hint)[0], value, kinds, where)
        _check_range(hint, value, where)
        return value
    return _filled_generic(hint, value, kinds, where) if typing.get_origin(hint) else _plain(hint, value, where)


def _filled_generic(hint: Any, value: Any, kinds: Kinds, where: str) -> Any:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return _chosen(value, inner, where)
    if origin is dict:
        return {key: _filled(inner[1], item, kinds, f"{where}.{key}") for key, item in _as_table(value, where).items()}
    if origin in (types.UnionType, typing.Union):
        # The only unions in use are `X | None`.
        return None if value is None else _filled(inner[0], value, kinds, where)
    items = (_filled(kind, item, kinds, where) for kind, item in _items(hint, value, where))
    return list(items) if origin is list else tuple(items)


def _items(hint: Any, value: Any, where: str) -> list[tuple[Any, Any]]:
    """Return (expected type, item) for each item of a list."""
    if not isinstance(value, list):
        raise BadConfigError(f"{where}: expected a list, got {_SHORT.repr(value)}")
    inner = typing.get_args(hint)
    if typing.get_origin(hint) is list or inner[-1] is Ellipsis:
        return [(inner[0], item) for item in value]
    if len(inner) != len(value):
        raise BadConfigError(f"{where}: expected {len(inner)} values, got {len(value)}")
    return list(zip(inner, value, strict=True))


def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind, include_extras=True)


def _check_range(hint: Any, value: Any, where: str) -> None:
    if typing.get_origin(hint) is tuple:
        hint = typing.get_args(hint)[0]
    for extra in getattr(hint, "__metadata__", ()):
        if isinstance(extra, Range) and not extra.holds(value):
            raise BadConfigError(f"{where} is {_SHORT.repr(value)}; it must be {extra}")


def _filled_kind(classes: Mapping[str, type], value: Any, kinds: Kinds, where: str) -> Any:
    table = _as_table(value, where)
    name = _chosen(table.get("kind"), tuple(classes), f"{where}.kind")
    for key in table:
        if key != "kind" and key not in classes:
            raise BadConfigError(f"{where}.{key}: no such setting{_nearest(key, ['kind', *classes])}")
    return fill(classes[name], _as_table(table.get(name, {}), f"{where}.{name}"), kinds, f"{where}.{name}.")


def _plain(hint: Any, value: Any, where: str) -> Any:
    if hint is Any:
        return value
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value) if abs(value) < 2**1023 else math.inf if value > 0 else -math.inf
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise BadConfigError(f"{where}: expected {_WORDS.get(hint, hint.__name__)}, got {_SHORT.repr(value)}")
    return value


def _chosen(value: Any, choices: tuple[Any, ...], where: str) -> Any:
    if value in choices:
        return value
    raise BadConfigError(
        f"{where}: {_SHORT.repr(value)} is not one of {', '.join(map(str, choices))}{_nearest(str(value), choices)}"
    )


def _as_table(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise BadConfigError(f"{where}: expected a group of settings, got {_SHORT.repr(value)}")
    return value


def _nearest(name: str, known: Iterable[Any]) -> str:
    found = difflib.get_close_matches(name, [str(item) for item in known], n=1, cutoff=0.5)
    return f"; did you mean {found[0]}?" if found else ""


def _value_of(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text
