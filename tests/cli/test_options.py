import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from sayso.cli import main
from sayso.cli.options import form_of, with_settings
from sayso.config import SEED, Option, Range
from sayso.configs import config_names
from sayso.errors import UserError


@pytest.fixture
def completed(monkeypatch, capsys):
    """Return the completions of the last word of a line."""

    def complete(line: str) -> list[str]:
        monkeypatch.setattr(sys, "argv", ["sayso"])
        asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1), "_SAYSO_COMPLETE": "complete_bash"}
        for name, value in asked.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
        return capsys.readouterr().out.split()

    return complete


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("sayso tr", ["train"]),
        ("sayso train ", config_names()),
        ("sayso train directsup_fe", ["directsup_fe", "directsup_fe_e"]),
        ("sayso train cnns_att --se", ["--seeds", "--set"]),
        ("sayso train cnns_att --device c", ["cpu", "cuda"]),
        ("sayso reproduce --variants DirectSup,CNNs+ATT+F+L", ["DirectSup,CNNs+ATT+F+LD", "DirectSup,CNNs+ATT+F+LD+E"]),
        ("sayso evaluate run --part v", ["validation"]),
        ("sayso check x --input-format n", ["nre"]),
        ("sayso prepare --train da", []),
    ],
)
def test_a_word_is_completed(completed, line: str, words: list[str]) -> None:
    assert completed(line) == words


@pytest.mark.parametrize("program", ["sayso", "site-packages/sayso/__main__.py"])
def test_the_script_for_the_shell_is_shown_however_the_program_was_started(monkeypatch, capsys, program: str) -> None:
    monkeypatch.setattr(sys, "argv", [program, "--show-completion", "bash"])
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    with pytest.raises(SystemExit):
        main()
    assert "complete -o default -F _sayso_completion sayso" in capsys.readouterr().out


ENDINGS = {"lines": ".jsonl", "folder": "", "csv": ".csv", "pairs": ".jsonl"}


@pytest.mark.parametrize(
    ("name", "form"), [("a.csv", "csv"), ("a.jsonl", "lines"), ("a", "lines"), ("a.txt", "lines"), ("a.csv.d", "lines")]
)
def test_the_file_name_decides_the_format_by_default(name: str, form: str) -> None:
    assert form_of(Path(name), None, ENDINGS, "lines") == form


@pytest.mark.parametrize(("name", "asked"), [("a.csv", "csv"), ("a.jsonl", "pairs"), ("a.txt", "csv"), ("a", "folder")])
def test_the_requested_format_is_used_if_the_name_allows_it(name: str, asked: str) -> None:
    assert form_of(Path(name), asked, ENDINGS, "lines") == asked


@pytest.mark.parametrize(("name", "asked"), [("a.csv", "lines"), ("a.jsonl", "csv"), ("a.csv", "folder")])
def test_a_file_name_of_another_format_is_refused(name: str, asked: str) -> None:
    with pytest.raises(UserError, match=f"{name}: this extension means the format"):
        form_of(Path(name), asked, ENDINGS, "lines")


@dataclass(frozen=True, kw_only=True)
class Settings:
    files: Annotated[tuple[Path, ...], Option("Files.")] = ()
    share: Annotated[float, Range(0, 0.9), Option("A share.", "--part")] = 0.5
    seed: Annotated[int, SEED, Option("A seed.")] = 13
    hidden: int = 7


def test_settings_are_made_from_options_with_the_ranges_and_defaults_of_the_class() -> None:
    app, made = typer.Typer(), list[object]()

    @app.command()
    @with_settings
    def command(settings: Settings, *, word: str = "usual") -> None:
        made.extend((settings, word))

    for options, expected in (
        ("", [Settings(), "usual"]),
        ("--files a --files b --seed 1 --word w", [Settings(files=(Path("a"), Path("b")), seed=1), "w"]),
        ("--part 0.9", [Settings(share=0.9), "usual"]),
    ):
        made.clear()
        assert CliRunner().invoke(app, options, catch_exceptions=False).exit_code == 0
        assert made == expected
    assert "--part" in (refused := CliRunner().invoke(app, "--part 0.95")).output
    assert refused.exit_code == 2
    assert CliRunner().invoke(app, "--hidden 1").exit_code == 2
