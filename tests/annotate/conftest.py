from collections.abc import Iterator
from pathlib import Path

import pytest

from sayso.annotate.store import AnnotationDatabase, Connection


@pytest.fixture
def database(tmp_path: Path) -> Iterator[AnnotationDatabase]:
    opened = AnnotationDatabase(tmp_path / "marks.db")
    yield opened
    opened.close()


@pytest.fixture
def connection(database: AnnotationDatabase) -> Iterator[Connection]:
    with database.writing() as connection:
        yield connection
