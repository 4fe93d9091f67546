"""The commands of the README's console blocks: run them (`make demo`), or write their output into the page anew.

A block is a command behind `$`, continued by a backslash at the end of a line, and what it prints on stdout.
"""

import re
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

README = Path(__file__).parent.parent / "README.md"
BLOCK = re.compile(r"```console\n\$ (?P<command>.*?[^\\])\n(?P<output>.*?)```", re.DOTALL)


class Step(NamedTuple):
    """A command and the output that the page shows for it."""

    command: str
    output: str


def steps() -> list[Step]:
    """Return the commands of the page, in order."""
    return [
        Step(found["command"].replace("\\\n", " "), found["output"]) for found in BLOCK.finditer(README.read_text())
    ]


def run(command: str, folder: Path, stdout: int | None = None) -> str:
    """Run a `sayso` command in the folder; return what it printed if stdout is a pipe."""
    words = shlex.split(command)
    assert words[0] == "sayso", f"the page may only show sayso commands, not {words[0]}"
    program = [str(Path(sys.executable).with_name("sayso")), *words[1:]]
    return subprocess.run(program, cwd=folder, check=True, stdout=stdout, text=True).stdout or ""


def shape(output: str) -> str:
    """Return the output without its figures and the space they take, which may differ from machine to machine."""
    return re.sub(r"[\d.,:±]+", "#", re.sub(r"[ ─━]+", " ", output)).strip()


def write() -> None:
    """Write what the commands print now into the page."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        shown = iter([run(step.command, Path(folder), subprocess.PIPE) for step in steps()])
    text = BLOCK.sub(lambda found: f"```console\n$ {found['command']}\n{_trimmed(next(shown))}```", README.read_text())
    README.write_text(text)


def demo(folder: Path) -> None:
    """Run the commands one after the other, showing all they print."""
    began = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    for step in steps():
        print(f"\n$ {' '.join(step.command.split())}", flush=True)
        run(step.command, folder)
    print(f"\nmake demo took {time.monotonic() - began:.0f} s", flush=True)


def _trimmed(output: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in output.strip("\n").splitlines())


if __name__ == "__main__":
    write() if sys.argv[1] == "--write" else demo(Path(sys.argv[1]))
