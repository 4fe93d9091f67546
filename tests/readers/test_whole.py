import gzip
from pathlib import Path

import pytest

from sayso.errors import BadInputError
from sayso.readers.whole import read_text


def test_byte_order_mark_and_windows_line_ends_are_taken_off(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb")
    assert read_text(path, "names") == "a\nb"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (gzip.compress(b"text" * 99, mtime=0)[:-9], "cut short or damaged"),
        (b"a\nb\xff", "file:2: not UTF-8"),
        (b"", "holds no names"),
        (b" \n\n", "holds no names"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, data: bytes, reason: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(BadInputError, match=reason):
        read_text(path, "names")
