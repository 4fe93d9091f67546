import re
from pathlib import Path

import pytest
from rich.progress import Progress

from sayso.cli.console import Stages, print_table, say_next
from script import ROOT


def test_every_command_that_is_printed_with_a_path_is_quoted_for_the_shell() -> None:
    unquoted = re.compile(r"""f["'][^"']*\bsayso [a-z]+ [^"'`]*\{""")
    for path in Path(ROOT / "src").rglob("*.py"):
        found = unquoted.findall(path.read_text())
        assert found == [], f"{path}: put it together with `as_command`"


def test_each_next_command_is_a_line_to_paste_and_prose_is_not_one(capsys: pytest.CaptureFixture[str]) -> None:
    say_next("corpus", "sayso check corpus", "sayso prepare corpus", note="read the page")
    assert capsys.readouterr().err.splitlines() == [
        "wrote corpus",
        "next: sayso check corpus",
        "next: sayso prepare corpus",
        "read the page",
    ]


def test_only_the_one_helper_writes_next() -> None:
    files = [path.name for path in (ROOT / "src" / "sayso" / "cli").glob("*.py") if "next: " in path.read_text()]
    assert files == ["console.py"]


def test_headings_and_progress_never_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    name = "\x1b[31m \udcff.jsonl"  # as Python reads a file name with a byte that is not UTF-8
    print_table(name, [name], [[name]])
    assert capsys.readouterr().out.count("\\x1b[31m \\udcff.jsonl") == 3
    bar = Progress()
    Stages(bar)(name, 1, 2, name)
    assert [bar.tasks[0].description, bar.tasks[0].fields["note"]] == ["\\x1b[31m \\udcff.jsonl"] * 2
