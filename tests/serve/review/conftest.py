from dataclasses import replace
from pathlib import Path

import pytest

from sayso.serve.server import ServeSettings
from toy_extraction import write_found


@pytest.fixture
def settings(shelf: ServeSettings, tmp_path: Path) -> ServeSettings:
    return replace(shelf, database=tmp_path / "marks.db", facts=(write_found(tmp_path / "news"),))
