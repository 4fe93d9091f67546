from dataclasses import dataclass, field
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.config import apply_changes, fill, read_table, to_table, to_toml
from sayso.errors import BadConfigError


@dataclass(frozen=True, kw_only=True)
class Engine:
    pass


@dataclass(frozen=True, kw_only=True)
class Steam(Engine):
    pressure: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Diesel(Engine):
    cylinders: tuple[int, ...] = (4,)


@dataclass(frozen=True, kw_only=True)
class Brakes:
    kind: Literal["drum", "disc"] = "drum"


@dataclass(frozen=True, kw_only=True)
class Train:
    seed: int = 1
    name: str = "x"
    is_fast: bool = False
    engine: Engine = field(default_factory=Steam)
    brakes: Brakes = field(default_factory=Brakes)


KINDS = {Engine: {"steam": Steam, "diesel": Diesel}}


def test_what_is_not_given_keeps_its_default() -> None:
    assert fill(Train, {"seed": 3}, KINDS) == Train(seed=3)


def test_a_kind_is_chosen_by_name_and_its_settings_stand_in_a_table_of_that_name() -> None:
    table = {"engine": {"kind": "diesel", "diesel": {"cylinders": [6, 8]}}}
    assert fill(Train, table, KINDS).engine == Diesel(cylinders=(6, 8))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"sede": 3}, "sede: no such setting; did you mean seed?"),
        ({"engine": {"kind": "stream"}}, "engine.kind: 'stream' is not one of steam, diesel; did you mean steam?"),
        ({"engine": {"kind": "steam", "steam": {"presure": 2}}}, "engine.steam.presure: no such setting; did you mean"),
        ({"brakes": {"kind": "disk"}}, "brakes.kind: 'disk' is not one of drum, disc; did you mean disc?"),
        ({"seed": "3"}, "seed: expected an integer, got '3'"),
        ({"seed": True}, "seed: expected an integer"),
        ({"brakes": 3}, "brakes: expected a group of settings"),
        ({"engine": {"kind": "diesel", "diesel": {"cylinders": 3}}}, "expected a list"),
    ],
)
def test_what_is_wrong_is_named_with_the_nearest_known(table: dict, message: str) -> None:
    with pytest.raises(BadConfigError) as error:
        fill(Train, table, KINDS)
    assert message in str(error.value)


def test_changes_are_read_as_toml_and_else_as_text() -> None:
    table = apply_changes({"seed": 1}, ["seed=2", "engine.kind=steam", "engine.steam.pressure=2.5", "is_fast=true"])
    assert fill(Train, table, KINDS) == Train(seed=2, is_fast=True, engine=Steam(pressure=2.5))


@pytest.mark.parametrize("change", ["seed", "=3", "a..b=1", "seed.x=1"])
def test_a_change_that_cannot_be_read_is_refused(change: str) -> None:
    with pytest.raises(BadConfigError, match="changes"):
        apply_changes({"seed": 1}, [change])


@pytest.mark.parametrize("change", ["brakes={}", "engine = {kind = 'steam'}"])
def test_a_change_of_a_whole_group_is_refused_since_it_would_undo_others(change: str) -> None:
    with pytest.raises(BadConfigError, match=r"set each value separately: (brakes|engine)\.NAME=value"):
        apply_changes({}, ["brakes.kind=disc", change])


@given(
    st.integers(), st.text(st.characters(exclude_categories=["C"])), st.floats(allow_nan=False, allow_infinity=False)
)
def test_the_resolved_form_reads_back_the_same(tmp_path_factory, seed: int, name: str, pressure: float) -> None:
    config = Train(seed=seed, name=name, engine=Steam(pressure=pressure))
    path = tmp_path_factory.mktemp("config") / "run.toml"
    path.write_text(to_toml(to_table(config, KINDS)), encoding="utf-8")
    assert fill(Train, read_table(path), KINDS) == config


@pytest.mark.parametrize("value", ["9" * 5_000, "[" * 5_000])
def test_a_value_that_no_parser_takes_is_refused_in_one_line(tmp_path, value: str) -> None:
    path = tmp_path / "x.toml"
    path.write_text(f"seed = {value}")
    with pytest.raises(BadConfigError, match="not TOML") as refusal:
        read_table(path)
    assert "\n" not in str(refusal.value)
    with pytest.raises(BadConfigError, match="seed: expected an integer") as refusal:
        fill(Train, apply_changes({}, [f"seed={value}"]), KINDS)
    assert len(str(refusal.value)) < 200


def test_a_file_that_is_not_toml_is_named_with_the_line(tmp_path) -> None:
    path = tmp_path / "x.toml"
    path.write_text("a = \n")
    with pytest.raises(BadConfigError, match="line 1"):
        read_table(path)
