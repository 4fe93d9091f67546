from pathlib import Path

import pytest

from reproduce.toy_store import make_store


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that every variant can be trained on."""
    return make_store(tmp_path_factory.mktemp("reproduce"))
