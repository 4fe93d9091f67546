"""Write docs/cli.md from the commands' --help, so that they cannot differ."""

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
    """Return the page, with the commands in workflow order."""
    from sayso.cli import COMMANDS, GROUPS

    parts = [
        "# Commands",
        "",
        "Generated from `--help` by `make docs`. Results go to stdout, progress and notes to stderr;",
        "exit codes are 0 (success), 1 (a bug), 2 (a user error), 130 (Ctrl-C) and 143 (SIGTERM).",
        "",
        "`sayso --install-completion` installs shell completion for commands, options, configs, variants and formats;",
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
