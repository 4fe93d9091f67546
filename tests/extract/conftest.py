from pathlib import Path

import pytest

from toy_run import make_run, make_store, toy_config


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="session")
def run(store: Path) -> Path:
    """Return a run whose model reads types, words and entity vectors."""
    return make_run(toy_config("type_and_words", use_entities=True), store, store.parent / "run")
