import struct
from pathlib import Path

import numpy as np
import pytest

from sayso.errors import BadInputError
from sayso.io.checksum import CheckedFiles
from sayso.store.columns import Column, read_columns, write_columns
from sayso.store.rows import Rows

WORDS = ["windhoek", "namibia"]
ROWS = Rows(np.arange(15), np.array([0, 8, 15]))


@pytest.mark.parametrize("column", [WORDS, ROWS], ids=["texts", "rows of numbers"])
def test_a_damaged_offset_is_refused_even_where_checksums_are_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, column: Column
) -> None:
    path = tmp_path / "words.arrow"
    write_columns(path, {"word": column})
    content, offsets = path.read_bytes(), struct.pack("<3q", 0, 8, 15)
    path.write_bytes(content.replace(offsets, struct.pack("<3q", 0, 8 + 2**48, 15)))
    assert path.read_bytes() != content
    monkeypatch.setenv("SAYSO_NO_VERIFY", "1")
    with pytest.raises(BadInputError, match=r"words\.arrow: not a file of columns, or damaged .*: make it again"):
        read_columns(CheckedFiles(tmp_path, None, "make it again"), "words.arrow")
