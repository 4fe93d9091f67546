"""No command accepts an empty path, which `pathlib` would read as the folder where the command was started."""

from collections.abc import Iterator
from pathlib import Path
from typing import get_type_hints

import pytest
import typer

from sayso.cli import app
from sayso.errors import UserError

GROUP = typer.main.get_command(app)
COMMANDS = [inner for each in GROUP.commands.values() for inner in getattr(each, "commands", {"": each}).values()]


def paths() -> Iterator[tuple[typer.core.TyperCommand, str]]:
    for command in COMMANDS:
        for name, hint in get_type_hints(command.callback).items():
            if hint in (Path, Path | None, list[Path], list[Path] | None):
                yield command, name


def words(command: typer.core.TyperCommand, empty: str) -> list[str]:
    """Return a command line with all required parameters, and this one empty."""
    line = []
    for each in command.params:
        if each.required or each.name == empty:
            value = "" if each.name == empty else "x"
            line += [value] if each.param_type_name == "argument" else [each.opts[0], value]
    return line


def test_there_are_paths() -> None:
    assert len({id(command) for command, _ in paths()}) == len(COMMANDS) > 15


@pytest.mark.parametrize(("command", "name"), list(paths()), ids=lambda each: getattr(each, "name", each))
def test_an_empty_path_is_refused_in_one_line(command: typer.core.TyperCommand, name: str) -> None:
    (param,) = (each for each in command.params if each.name == name)
    shown = param.opts[0] if param.opts[0].startswith("--") else param.metavar
    with pytest.raises(UserError, match=f"^{shown}: the path is empty; expected a file or folder$"):
        command.make_context(command.name, words(command, name))
