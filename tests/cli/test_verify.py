from collections.abc import Iterator

import pytest
import typer

from sayso.cli import app
from sayso.io.checksum import is_verifying, set_verifying

COMMANDS = typer.main.get_command(app).commands
READING = ["train", "predict", "extract", "evaluate", "explain", "export", "serve"]


@pytest.fixture(autouse=True)
def verifying() -> Iterator[None]:
    set_verifying(True)
    yield
    set_verifying(True)


@pytest.mark.parametrize("name", READING)
def test_a_command_that_reads_stores_or_models_compares_checksums_unless_it_is_told_not_to(name: str) -> None:
    command = COMMANDS[name]
    needed = [(each.param_type_name == "option", each.opts[0]) for each in command.params if each.required]
    words = [word for is_option, option in needed for word in ([option, "x"] if is_option else ["x"])]
    command.make_context(name, [*words])
    assert is_verifying()
    command.make_context(name, [*words, "--no-verify"])
    assert not is_verifying()
