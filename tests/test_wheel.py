"""The wheel contains all data files that sayso reads."""

import subprocess
import tomllib
import zipfile
from pathlib import Path

import pytest

from sayso.configs import config_names
from script import ROOT

PACKAGE = ROOT / "src" / "sayso"


def files_of_wheel(folder: Path) -> set[str]:
    """Return the files of a wheel built in the folder; without hatchling, the files that it would include."""
    try:
        from hatchling.builders.wheel import WheelBuilder
    except ModuleNotFoundError:
        settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
        assert settings == {"packages": ["src/sayso"]}, "the choice below is that of these settings alone"
        # Everything in the package that git does not ignore.
        choose = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "src/sayso"]
        listed = subprocess.run(choose, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        return {line.removeprefix("src/") for line in listed.splitlines()}
    [wheel] = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    return set(zipfile.ZipFile(wheel).namelist())


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    return files_of_wheel(tmp_path_factory.mktemp("wheel"))


def test_the_configs_are_in_the_wheel(files: set[str]) -> None:
    assert {f"sayso/configs/{name}.toml" for name in config_names()} <= files


def test_the_word_lists_of_the_invented_corpus_are_in_the_wheel(files: set[str]) -> None:
    assert {"sayso/invent/relations.toml", "sayso/invent/words.toml"} <= files


@pytest.mark.parametrize(
    "folder", ["serve/templates", "serve/static", "facts/templates", "evaluate/templates", "reproduce/templates"]
)
def test_pages_are_in_the_wheel(files: set[str], folder: str) -> None:
    there = {path.relative_to(PACKAGE.parent).as_posix() for path in (PACKAGE / folder).rglob("*") if path.is_file()}
    assert there
    assert there <= files


def test_no_file_of_the_package_is_a_link(files: set[str]) -> None:
    assert [path for path in PACKAGE.rglob("*") if path.is_symlink()] == []
