from collections.abc import Iterator
from pathlib import Path

import pytest

from sayso.annotate.store import Connection, Database


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "marks.db")
    yield opened
    opened.close()


@pytest.fixture
def connection(database: Database) -> Iterator[Connection]:
    with database.writing() as connection:
        yield connection
