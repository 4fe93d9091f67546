"""Run the commands in the README's console blocks (`make demo`), or write their output into the page.

A block is a command after `$`, continued by a backslash at the end of a line, and its output on stdout; the output of a
block that `varies` may differ between machines, because it shows the predictions of a model trained there.
"""

import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

README = Path(__file__).parent.parent / "README.md"
BLOCK = re.compile(r"```console(?P<varies> varies)?\n\$ (?P<command>.*?[^\\])\n(?P<output>.*?)```", re.DOTALL)


class Step(NamedTuple):
    """A command, the output that the page shows for it, and whether only its first line is the same everywhere."""

    command: str
    output: str
    varies: bool


def steps() -> list[Step]:
    """Return the commands of the page, in order."""
    found = BLOCK.finditer(README.read_text())
    return [Step(f["command"].replace("\\\n", " "), f["output"], bool(f["varies"])) for f in found]


def run(command: str, folder: Path, stdout: int | None = None) -> str:
    """Run a `sayso` command in the folder; return what it printed if stdout is a pipe."""
    words = shlex.split(command)
    assert words[0] == "sayso", f"the page may only show sayso commands, not {words[0]}"
    program = [str(Path(sys.executable).with_name("sayso")), *words[1:]]
    return subprocess.run(program, cwd=folder, check=True, stdout=stdout, text=True).stdout or ""


def shape(output: str, varies: bool) -> str:
    """Return the output without numbers, fingerprints and padding, which may differ between machines.

    Word vectors, and with them the fingerprint of a store, depend on the processor's vector instructions.
    """
    if varies:
        output = output.strip().partition("\n")[0]
    lines = (re.sub(r"[ ─━]+", " ", line).strip() for line in output.strip().splitlines())
    return re.sub(r"\b[0-9a-f]{16}\b|-?[\d.,:±]+", "#", "\n".join(lines))


def write() -> None:
    """Write the commands' current output into the page."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shown = iter([run(step.command, folder, subprocess.PIPE) for step in steps()])

    def renewed(found: re.Match[str]) -> str:
        return f"```console{found['varies'] or ''}\n$ {found['command']}\n{_trimmed(next(shown))}```"

    README.write_text(BLOCK.sub(renewed, README.read_text()))


def demo(folder: Path) -> None:
    """Run the commands one after the other, showing all output."""
    began = time.monotonic()
    for step in steps():
        print(f"\n$ {' '.join(step.command.split())}", flush=True)
        run(step.command, folder)
    print(f"\nmake demo took {time.monotonic() - began:.0f} s", flush=True)
    print(f"next, in the browser: {command_to_serve()}", flush=True)


def command_to_serve() -> str:
    """Return the page's command that opens the workbench."""
    found = re.search(r"^    (sayso serve .*)$", README.read_text(), re.MULTILINE)
    assert found, "the page names no sayso serve"
    return found[1]


def _trimmed(output: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in output.strip("\n").splitlines())


if __name__ == "__main__":
    write() if sys.argv[1] == "--write" else demo(Path(sys.argv[1]))
