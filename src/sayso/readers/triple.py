"""Facts of a knowledge graph: head id, relation and tail id, tab-separated, one fact a line."""

from collections.abc import Iterator
from pathlib import Path

from sayso.errors import BadInputError
from sayso.input_file import holding
from sayso.readers.base import BadLine, BadLineError, refuse_control
from sayso.readers.lines import read_lines
from sayso.records import Triple


def read_triples(path: Path) -> Iterator[Triple]:
    """Yield the facts of the file in order, repeated ones too; blank lines are passed over."""
    return holding(path, "facts", _triples(path))


def _triples(path: Path) -> Iterator[Triple]:
    for number, text in read_lines(path):
        if isinstance(text, BadLine):
            raise BadInputError(f"{path}:{number}: {text.reason}")
        if text and not text.isspace():
            columns = text.split("\t")
            if len(columns) != 3:
                found = "1 column" if len(columns) == 1 else f"{len(columns)} columns"
                raise BadInputError(f"{path}:{number}: {found} where head, relation and tail are expected")
            if not all(column.strip() for column in columns):
                raise BadInputError(f"{path}:{number}: head, relation or tail is empty")
            try:
                refuse_control(*columns)
            except BadLineError as error:
                raise BadInputError(f"{path}:{number}: {error}") from None
            yield Triple(*columns)
