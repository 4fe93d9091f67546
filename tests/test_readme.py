"""The README's commands work, and print what the README shows."""

import importlib.util
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def load_walkthrough():
    spec = importlib.util.spec_from_file_location("walkthrough", ROOT / "docs" / "walkthrough.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_commands_work_and_print_what_the_page_shows(tmp_path: Path) -> None:
    walkthrough = load_walkthrough()
    steps = walkthrough.steps()
    assert len(steps) >= 4
    for step in steps:
        printed = walkthrough.run(step.command, tmp_path, subprocess.PIPE)
        assert walkthrough.shape(printed) == walkthrough.shape(step.output), f"run `make docs`: {step.command}"


def test_the_page_shows_an_output_for_every_command() -> None:
    for step in load_walkthrough().steps():
        assert step.output.strip(), step.command


def test_the_makefile_has_the_targets_the_page_names() -> None:
    targets = (ROOT / "Makefile").read_text()
    for target in ("demo", "test", "check", "setup", "bench", "docs"):
        assert f"\n{target}:" in targets
