from pathlib import Path

import pytest

from sayso.serve.predictions.run import RunPredictions
from sayso.serve.server import ServeSettings
from sayso.store.predictions import Predictions
from sayso.store.store import Store
from toy_runs import Client, make_toy_settings


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> ServeSettings:
    return make_toy_settings(tmp_path_factory.mktemp("workbench"))


@pytest.fixture(scope="session")
def runs(settings: ServeSettings) -> list[RunPredictions]:
    store = Store(settings.data)
    table = store.part("test")

    def opened(folder: Path) -> RunPredictions:
        return RunPredictions(folder.name, folder, Predictions(folder / "predictions"), store, table)

    return [opened(folder) for folder in settings.runs]


@pytest.fixture(scope="session")
def run(runs: list[RunPredictions]) -> RunPredictions:
    return runs[0]


@pytest.fixture(scope="session")
def client(settings: ServeSettings) -> Client:
    return Client(settings)
