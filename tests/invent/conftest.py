"""One toy corpus for all tests here: inventing it takes a second, reading it less."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sayso.invent.settings import InventSettings
from sayso.invent.write import invent
from sayso.readers import jsonl
from sayso.records import Sentence


class Corpus(NamedTuple):
    folder: Path
    settings: InventSettings
    manifest: dict[str, Any]

    def sentences(self, name: str) -> list[Sentence]:
        return [jsonl.parse(line) for line in self.lines(f"{name}.jsonl")]

    def records(self, file: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines(file)]

    def lines(self, file: str) -> list[str]:
        return (self.folder / file).read_text().splitlines()


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder, settings = tmp_path_factory.mktemp("invent") / "toy", InventSettings.of_size("toy")
    return Corpus(folder, settings, invent(folder, settings))
