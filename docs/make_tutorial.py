"""Run docs/tutorial.md block by block in a temporary folder, and write the output into the page.

    python docs/make_tutorial.py

A console block is a sayso or python command and its output on stdout; a python block is a separate program, and the
text block after it is its output. The folder has a link to `examples`.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import walkthrough

PAGE = Path(__file__).with_name("tutorial.md")
_BLOCK = re.compile(
    r"```console(?P<varies> varies)?\n\$ (?P<command>.*?[^\\])\n(?P<output>.*?)```"
    r"|```python\n(?P<code>.*?)```(?:\n\n```text(?P<differs> varies)?\n(?P<printed>.*?)```)?",
    re.DOTALL,
)

Compare = Callable[[str, str, bool], None]
"""Called with the output on the page, the new output, and whether only the first line is the same everywhere."""


def run(folder: Path, compare: Compare = lambda *_: None) -> str:
    """Run the page's blocks in the folder, one after the other, and return the page with their output."""
    walkthrough.link_examples(folder)

    def renewed(block: re.Match[str]) -> str:
        if block["command"]:
            printed = walkthrough.run(block["command"].replace("\\\n", " "), folder, subprocess.PIPE)
            compare(block["output"], printed, bool(block["varies"]))
            return f"```console{block['varies'] or ''}\n$ {block['command']}\n{_trimmed(printed)}```"
        printed = subprocess.run(
            [sys.executable, "-c", block["code"]], cwd=folder, check=True, stdout=subprocess.PIPE, text=True
        ).stdout
        differs = block["differs"] or ""
        compare(block["printed"] or "", printed, bool(differs))
        shown = f"\n\n```text{differs}\n{_trimmed(printed)}```" if block["printed"] is not None else ""
        return f"```python\n{block['code']}```{shown}"

    return _BLOCK.sub(renewed, PAGE.read_text())


def _trimmed(output: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in output.strip("\n").splitlines())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        PAGE.write_text(run(Path(name)))
