"""Run the commands in the console blocks of docs/tour.md and README.md (`make demo`), or write their output there.

A block is a command after `$`, continued by a backslash at the end of a line, and its output on stdout; the output of a
block that `varies` may differ between machines, because it shows the predictions of a model trained there.
"""

import itertools
import json
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "docs" / "tour.md", ROOT / "README.md")
BLOCK = re.compile(r"```console(?P<varies> varies)?\n\$ (?P<command>.*?[^\\])\n(?P<output>.*?)```", re.DOTALL)
FACTS = "demo/wiki-facts"
NUM_FACTS = 10


class Step(NamedTuple):
    """A command, the output that the page shows for it, and whether only its first line is the same everywhere."""

    command: str
    output: str
    varies: bool


def steps(page: Path) -> list[Step]:
    """Return the commands of a page, in order."""
    found = BLOCK.finditer(page.read_text())
    return [Step(f["command"].replace("\\\n", " "), f["output"], bool(f["varies"])) for f in found]


def link_examples(folder: Path) -> None:
    """Link `examples` into a folder, so that commands that run there find it."""
    if not (folder / "examples").exists():
        (folder / "examples").symlink_to(ROOT / "examples")


def run(command: str, folder: Path, stdout: int | None = None) -> str:
    """Run a `sayso` or `python` command in the folder; return what it printed if stdout is a pipe."""
    words = shlex.split(command)
    assert words[0] in ("sayso", "python"), f"the page may only show sayso and python commands, not {words[0]}"
    program = [str(Path(sys.executable).with_name(words[0])), *words[1:]]
    return subprocess.run(program, cwd=folder, check=True, stdout=stdout, text=True).stdout or ""


def shape(output: str, varies: bool) -> str:
    """Return the output without numbers, fingerprints and padding, which may differ between machines.

    Word vectors, and with them the fingerprint of a store, depend on the processor's vector instructions.
    """
    if varies:
        output = output.strip().partition("\n")[0]
    lines = (re.sub(r"[ ─━]+", " ", line).strip() for line in output.strip().splitlines())
    return re.sub(r"\b[0-9a-f]{16}\b|-?[\d.,:±]+", "#", "\n".join(lines))


def write(page: Path) -> None:
    """Write the commands' current output into the page."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        link_examples(folder)
        shown = iter([run(step.command, folder, subprocess.PIPE) for step in steps(page)])

    def renewed(found: re.Match[str]) -> str:
        return f"```console{found['varies'] or ''}\n$ {found['command']}\n{_trimmed(next(shown))}```"

    page.write_text(BLOCK.sub(renewed, page.read_text()))


def demo(folder: Path) -> None:
    """Run the commands one after the other, showing all output, then the new facts with their sentences."""
    began = time.monotonic()
    for step in (step for page in PAGES for step in steps(page)):
        print(f"\n$ {' '.join(step.command.split())}", flush=True)
        run(step.command, folder)
    print(f"\n{NUM_FACTS} new facts, each with the sentence that the model considers the best evidence:\n")
    print("\n".join(new_facts(folder)))
    print(f"\nmake demo took {time.monotonic() - began:.0f} s", flush=True)
    print(f"next, in the browser: {command_to_serve()}", flush=True)


def new_facts(folder: Path) -> list[str]:
    """Return the most probable new facts, each with its top-ranked sentence."""
    with (folder / FACTS / "facts.jsonl").open(encoding="utf-8") as file:
        facts = list(itertools.islice(map(json.loads, file), NUM_FACTS))
    shown = []
    for fact in facts:
        best = fact["evidence"][0]
        sentence = " ".join(f"{best['prefix']}{best['exact']}{best['suffix']}".split())
        shown.append(f"{fact['head_name']} {fact['relation']} {fact['tail_name']} ({fact['probability']:.2f})")
        shown.append(f"    {sentence} [{best['document']['id']}]")
    return shown


def command_to_serve() -> str:
    """Return the README's command that opens the facts in the workbench."""
    found = re.search(r"^    (sayso serve .*)$", PAGES[-1].read_text(), re.MULTILINE)
    assert found, "the page names no sayso serve"
    return found[1]


def _trimmed(output: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in output.strip("\n").splitlines())


if __name__ == "__main__":
    if sys.argv[1] == "--write":
        for page in PAGES:
            write(page)
    else:
        demo(Path(sys.argv[1]))
