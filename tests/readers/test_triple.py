import gzip
from pathlib import Path

import pytest

from sayso.errors import BadInputError
from sayso.readers.triple import read_triples


def written(folder: Path, text: str) -> Path:
    path = folder / "kg.tsv"
    path.write_text(text)
    return path


def test_facts_come_in_order_repeated_ones_too(tmp_path: Path) -> None:
    facts = list(read_triples(written(tmp_path, "a\tborn\tb\n\na\tborn\tb\nb\tin\tc\r\n")))
    assert facts == [("a", "born", "b"), ("a", "born", "b"), ("b", "in", "c")]


def test_gzip_is_read(tmp_path: Path) -> None:
    path = tmp_path / "kg.tsv.gz"
    path.write_bytes(gzip.compress(b"a\tborn\tb\n"))
    assert list(read_triples(path)) == [("a", "born", "b")]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("a born b", "1 column where"),
        ("a\tb", "2 columns"),
        ("a\tb\tc\td", "4 columns"),
        ("a\t \tc", "is empty"),
        ("a\x1b[2J\tborn\tc", "control character"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, reason: str) -> None:
    with pytest.raises(BadInputError, match=rf"kg\.tsv:2: .*{reason}"):
        list(read_triples(written(tmp_path, f"a\tborn\tb\n{line}\n")))


def test_facts_before_a_bad_line_have_come_already(tmp_path: Path) -> None:
    facts = read_triples(written(tmp_path, "a\tborn\tb\nbad\n"))
    assert next(facts) == ("a", "born", "b")
