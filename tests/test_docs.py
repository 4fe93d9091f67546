"""The docs agree with the program."""

import re

import pytest

from sayso.cli import COMMANDS, GROUPS
from sayso.library import Model
from sayso.readers import READERS
from script import ROOT, load
from test_layers import LAYERS, SOURCE


def headings(page: str) -> set[str]:
    return {line.lstrip("#").strip() for line in (ROOT / page).read_text().splitlines() if line.startswith("#")}


def test_the_command_page_is_what_help_prints() -> None:
    maker = load("docs/make_cli_page.py")
    assert (ROOT / "docs" / "cli.md").read_text() == maker.page(), "run `make docs`"


@pytest.mark.parametrize("name", [*COMMANDS, *GROUPS])
def test_every_command_has_an_example_in_its_help(name: str) -> None:
    page = (ROOT / "docs" / "cli.md").read_text()
    section = page.split(f"## sayso {name}")[1].split("\n## ")[0]
    assert "Example" in section


@pytest.mark.parametrize("name", READERS)
def test_every_reader_has_a_heading(name: str) -> None:
    assert any(f"`{name}`" in heading for heading in headings("docs/data-format.md"))


def test_the_architecture_names_every_layer() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    present = {path.name.removesuffix(".py") for path in SOURCE.iterdir() if not path.name.startswith(("_", "."))}
    for name, _ in LAYERS:
        if name in present:
            assert f"`{name}`" in text, f"ARCHITECTURE.md does not name {name}"


def test_files_named_in_the_documents_exist() -> None:
    for page in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / page).read_text()):
            assert (ROOT / target).exists(), f"{page} links to {target}, which is not there"
        for path in re.findall(r"`(src/[\w/.]+|docs/[\w/.-]+|tests/[\w/.]+|bench/[\w/.]+)`", (ROOT / page).read_text()):
            assert (ROOT / path).exists(), f"{page} names {path}, which is not there"


@pytest.mark.parametrize(("flow", "steps"), load("docs/house.py").ways().items())
def test_the_functions_of_a_data_flow_are_where_the_architecture_says(flow: str, steps: list[str]) -> None:
    assert 1 < len(steps) <= 12, flow
    for step in steps:
        named = re.findall(r"`([\w/]+\.(?:py|js))`(?: `([\w.]+)`)?", step)
        folder = (SOURCE / named[0][0]).parent
        for path, name in named:
            roots = (SOURCE, SOURCE.parent, folder) if "/" in path else (folder,)
            file = next((root / path for root in roots if (root / path).is_file()), None)
            assert file, f"{step}: there is no {path}"
            for part in name.split(".") if name else ():
                defined = rf"^ *(?:export )?(?:async )?(?:def|class|function) {part}\b"
                assert re.search(defined, file.read_text(), re.MULTILINE), f"{step}: {path} does not define {part}"


@pytest.mark.parametrize("name", [name for name, member in vars(Model).items() if name[0] != "_" and callable(member)])
def test_the_library_page_names_every_method_of_a_model(name: str) -> None:
    assert re.search(rf"\b[mM]odel\.{name}\(", (ROOT / "docs" / "library.md").read_text())


def test_no_page_sends_a_user_to_an_internal_module() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        text = re.sub(r"^::: .*", "", page.read_text(), flags=re.MULTILINE)  # shown by the last part of the name
        named = re.findall(r"\bsayso\.[a-z_]+(?:\.\w+)+|from sayso\.[\w.]+", text)
        internal = [name for name in named if "sayso.integrations." not in name]
        assert not internal, f"{page} names {internal}"
