"""The README's commands work, and print what the README shows."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from command import sayso
from script import ROOT, load


def run(command: str, folder: Path) -> str:
    """Run a command of a page in the folder and return what it prints, without importing torch again."""
    words = shlex.split(command)
    if words[0] != "sayso":
        return load("docs/walkthrough.py").run(command, folder, subprocess.PIPE)
    result = sayso(*words[1:], folder=folder)
    assert result.returncode == 0, f"{command}\n{result.stderr}"
    return result.stdout


@pytest.mark.slow(100)
def test_the_commands_work_and_print_what_the_page_shows(tmp_path: Path) -> None:
    walkthrough = load("docs/walkthrough.py")
    walkthrough.link_examples(tmp_path)
    for page in walkthrough.PAGES:
        steps = walkthrough.steps(page)
        assert len(steps) >= 4
        for step in steps:
            printed = run(step.command, tmp_path)
            same = walkthrough.shape(printed, step.varies) == walkthrough.shape(step.output, step.varies)
            assert same, f"run `make docs`: {step.command}\n{printed}"
    for page in ("docs/tour.md", "docs/library.md"):
        code = "".join(re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL))
        subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


def test_numbers_and_fingerprints_may_differ_between_machines() -> None:
    shape = load("docs/walkthrough.py").shape
    first, second = "store 99576db3e15cea27\ntrain  10,820\n", "store bd61715c1f80c1d5\ntrain   1,820\n"
    assert shape(first, False) == shape(second, False)
    assert shape(first, False) != shape(second.replace("train", "test"), False)


def test_the_page_shows_an_output_for_every_command() -> None:
    walkthrough = load("docs/walkthrough.py")
    for step in (step for page in walkthrough.PAGES for step in walkthrough.steps(page)):
        assert step.output.strip(), step.command


def test_the_demo_ends_with_facts_and_their_sentences(tmp_path: Path) -> None:
    walkthrough = load("docs/walkthrough.py")
    sentence = {
        "prefix": "Indeed, ",
        "exact": "Rand  was born in\nPetrograd",
        "suffix": ".",
        "document": {"id": "Ayn Rand"},
    }
    fact = {"head_name": "Ayn Rand", "relation": "born_in", "tail_name": "Petrograd", "probability": 0.5}
    (tmp_path / walkthrough.FACTS).mkdir(parents=True)
    line = json.dumps(fact | {"evidence": [sentence]}) + "\n"
    (tmp_path / walkthrough.FACTS / "facts.jsonl").write_text(line * (walkthrough.NUM_FACTS + 1))
    shown = walkthrough.new_facts(tmp_path)
    assert shown[:2] == ["Ayn Rand born_in Petrograd (0.50)", "    Indeed, Rand was born in Petrograd. [Ayn Rand]"]
    assert len(shown) == 2 * walkthrough.NUM_FACTS
    assert walkthrough.command_to_serve().endswith(f"--facts {walkthrough.FACTS}")


def test_the_makefile_has_the_targets_the_page_names() -> None:
    targets = (ROOT / "Makefile").read_text()
    for target in ("demo", "test", "check", "setup", "bench", "docs"):
        assert f"\n{target}:" in targets
