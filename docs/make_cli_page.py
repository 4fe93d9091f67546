"""Writes docs/cli.md from the commands' own --help, so that it cannot say anything else."""

import os
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parent / "cli.md"


def help_of(*words: str) -> str:
    """Return what `sayso WORDS --help` prints on a plain terminal of 100 columns."""
    environment = os.environ | {"COLUMNS": "100", "TERMINAL_WIDTH": "100", "NO_COLOR": "1", "TERM": "dumb"}
    program = [sys.executable, "-c", "from sayso.cli import main; main()", *words, "--help"]
    result = subprocess.run(program, capture_output=True, text=True, check=True, env=environment)
    shown = result.stdout.replace("-c [", "sayso [").replace("python -c", "sayso").replace(" -c ", " sayso ")
    return "\n".join(line.rstrip() for line in shown.strip().splitlines())


def page() -> str:
    """Return the page: the commands in the order of the work."""
    from sayso.cli import COMMANDS, GROUPS

    parts = [
        "# Commands",
        "",
        "Made from `--help` by `make docs`. Results go to stdout, progress and remarks to stderr;",
        "exit codes are 0 (done), 1 (a bug), 2 (something you can repair), 130 (ended by Ctrl-C) and 143 (by SIGTERM).",
        "",
        "`sayso --install-completion` makes your shell complete commands, options, configs, variants and forms;",
        "`sayso --show-completion` prints the script instead.",
        "",
    ]
    names = [(name,) for name in COMMANDS]
    names += [
        (name, command.name or command.callback.__name__)
        for name, group in GROUPS.items()
        for command in group.registered_commands
    ]
    for words in names:
        parts += [f"## sayso {' '.join(words)}", "", "```", help_of(*words), "```", ""]
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"wrote {PAGE}")
