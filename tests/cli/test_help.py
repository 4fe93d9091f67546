"""Help can be read in a narrow terminal."""

import re
import subprocess
import sys

import pytest
import typer

from command import sayso
from sayso.cli import app, main

GROUP = typer.main.get_command(app)
WORDS = [()] + [(name,) for name in GROUP.commands]
WORDS += [(name, inner) for name, each in GROUP.commands.items() for inner in getattr(each, "commands", {})]


@pytest.fixture
def help_of(monkeypatch, capsys):
    def shown(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["sayso", *words, "--help"])
        monkeypatch.setenv("COLUMNS", "60")
        monkeypatch.setenv("TERMINAL_WIDTH", "60")
        with pytest.raises(SystemExit):
            main()
        return capsys.readouterr().out

    return shown


def parameters(words: tuple[str, ...]) -> list[typer.core.TyperOption]:
    command = GROUP
    for word in words:
        command = command.commands[word]
    return [each for each in command.params if isinstance(each, typer.core.TyperOption) and not each.hidden]


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_names_are_whole_and_flags_have_no_type_in_60_columns(help_of, words: tuple[str, ...]) -> None:
    text = help_of(*words)
    usage, _, below = text.partition("\n\n")
    assert usage.startswith("Usage: sayso")
    assert "...\n" not in below, "a description is cut"
    for option in parameters(words):
        for name in (*option.opts, *option.secondary_opts):
            line = next((line for line in text.splitlines() if re.search(rf"(^|[\s/]){name}(\s|,|$|/)", line)), None)
            assert line, f"{name} is not shown"
            assert not option.is_flag or "<" not in line.partition("  ")[0]
    assert "<bool>" not in text


@pytest.mark.parametrize(
    ("command", "now"),
    [
        (("prepare", "--train", "x", "--judgements", "y", "--out", "z"), "--judgements is now called --decisions"),
        (("prepare", "--train", "x", "--rationales=y", "--out", "z"), "--rationales is now called --marks"),
        (("decisions", "export", "--form", "judgements"), "--form judgements is now called --format decisions"),
        (("annotations", "export", "x", "--form=remarks"), "--form remarks is now called --format comments"),
        (
            ("check", "x", "--form", "nre"),
            "--form is now called --format (of an export) or --input-format (of sentences)",
        ),
    ],
)
def test_an_option_of_an_earlier_version_is_refused_with_its_present_name(command: tuple[str, ...], now: str) -> None:
    done = sayso(*command)
    assert (done.returncode, done.stderr.strip()) == (2, f"sayso: {now}")


def test_the_settings_that_options_are_made_from_load_no_large_library() -> None:
    program = "import sys, sayso.cli; print(*{'numpy', 'torch', 'pyarrow', 'pandas', 'scipy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
