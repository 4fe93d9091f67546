from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from sayso.serve.settings import ServeSettings
from toy_found import write_found
from toy_workbench import Person, open_client


@pytest.fixture
def settings(shelf: ServeSettings, tmp_path: Path) -> ServeSettings:
    return replace(shelf, database=tmp_path / "marks.db", facts=(write_found(tmp_path / "news"),))


@pytest.fixture
def client(settings: ServeSettings) -> Iterator[TestClient]:
    with open_client(settings) as opened:
        yield opened


@pytest.fixture
def ada(client: TestClient) -> Person:
    return Person(client, "Ada")
