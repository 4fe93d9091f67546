from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from sayso.serve.server import ServeSettings
from toy_workbench import Person, make_settings, open_client


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> ServeSettings:
    """A store and a run, created once; every test has its own annotation database."""
    return make_settings(tmp_path_factory.mktemp("workbench"))


@pytest.fixture
def settings(shelf: ServeSettings, tmp_path: Path) -> ServeSettings:
    return ServeSettings(**{**vars(shelf), "database": tmp_path / "marks.db", "leads": ("Ada",)})


@pytest.fixture
def client(settings: ServeSettings) -> Iterator[TestClient]:
    with open_client(settings) as opened:
        yield opened


@pytest.fixture
def ada(client: TestClient) -> Person:
    return Person(client, "Ada")


@pytest.fixture
def ben(client: TestClient) -> Person:
    # The same application in another browser.
    return Person(TestClient(client.app, base_url=str(client.base_url), raise_server_exceptions=False), "Ben")
