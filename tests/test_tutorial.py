"""The tutorial runs from end to end, prints what it shows, and finds what was withheld."""

import re
from pathlib import Path

import pytest

import test_readme
from script import ROOT, load


def figure(page: str, name: str) -> float:
    return float(re.findall(rf"^{name} +([01]\.\d\d)", page, re.MULTILINE)[-1])


@pytest.mark.slow(60)
def test_the_tutorial_works_and_finds_withheld_facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tutorial = load("docs/make_tutorial.py")
    monkeypatch.setattr(tutorial.walkthrough, "run", lambda command, folder, _: test_readme.run(command, folder))

    def compare(shown: str, printed: str, varies: bool) -> None:
        same = tutorial.walkthrough.shape(printed, varies) == tutorial.walkthrough.shape(shown, varies)
        assert same, f"run `python docs/make_tutorial.py`\n{printed}"

    page = tutorial.run(tmp_path, compare)
    assert figure(page, "precision") > 0.3
    assert figure(page, "recall") > 0.04
    before, after = ((tmp_path / name).read_text() for name in ("examples/wiki/kb.tsv", "kb.tsv"))
    assert after.startswith(before)
    assert after.count("\n") > before.count("\n")


def test_the_page_shows_what_every_block_prints() -> None:
    page = (ROOT / "docs" / "tutorial.md").read_text()
    for block in re.findall(r"```(?:console|text)[^\n]*\n(.*?)```", page, re.DOTALL):
        assert len(block.splitlines()) > block.startswith("$"), f"run `python docs/make_tutorial.py`: {block}"
