import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from sayso.errors import BadInputError
from sayso.readers.base import BadLine
from sayso.readers.files import MAX_LINE_BYTES, files_of, read_lines, read_text, sha256_of, size_of
from sayso.readers.read import Tally, read_sentences

LINE = "m.1\tm.2\tana\trome\tNA\tana left rome {}\t###END###\n"


def test_a_folder_of_shards_is_read_in_order_and_bad_lines_are_named_by_their_file(tmp_path: Path) -> None:
    (tmp_path / "1.txt").write_text(LINE.format(1) + "bad\n")
    (tmp_path / "0.txt").write_text(LINE.format(0))
    (tmp_path / ".2.txt.partial").write_text("half")
    tally, heard = Tally(tmp_path), [0]
    found = list(read_sentences(tmp_path, tally, on_bytes=heard.append))
    assert [sentence.tokens[-1] for sentence in found] == ["0", "1"]
    assert (tally.form, tally.num_good, tally.num_bad) == ("nre", 2, 1)
    assert tally.shown[0].startswith(f"{tmp_path / '1.txt'}:2: ")
    assert heard == sorted(heard)


def test_size_and_hash_are_those_of_the_files_together(tmp_path: Path) -> None:
    (tmp_path / "shards").mkdir()
    for name in "ab":
        (tmp_path / "shards" / name).write_text(name)
    (tmp_path / "whole").write_text("ab")
    assert size_of(tmp_path / "shards") == size_of(tmp_path / "whole") == 2
    assert sha256_of(tmp_path / "shards") == sha256_of(tmp_path / "whole")
    assert sha256_of(Path("-")) == "not a plain file"


def test_the_files_of_a_built_corpus_are_those_of_its_parts_and_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="this folder contains no files"):
        files_of(tmp_path)
    (tmp_path / "kb.tsv").touch()
    for part in ("train", "rest"):
        (tmp_path / part).mkdir()
    with pytest.raises(BadInputError, match="this folder contains no files"):
        files_of(tmp_path)
    for name in ("rest/0", "rest/.1.partial", "train/1", "train/0"):
        (tmp_path / name).touch()
    assert files_of(tmp_path) == [tmp_path / name for name in ("train/0", "train/1", "rest/0")]


def written(folder: Path, data: bytes) -> Path:
    path = folder / "lines.txt"
    path.write_bytes(data)
    return path


def test_lines_are_numbered_from_one(tmp_path: Path) -> None:
    assert list(read_lines(written(tmp_path, b"a\n\nb"))) == [(1, "a"), (2, ""), (3, "b")]


def test_gzip_is_recognised_by_its_bytes_not_by_its_name(tmp_path: Path) -> None:
    assert list(read_lines(written(tmp_path, gzip.compress(b"a\nb\n")))) == [(1, "a"), (2, "b")]


def test_windows_line_ends_are_stripped(tmp_path: Path) -> None:
    assert list(read_lines(written(tmp_path, b"a\r\nb\r\n"))) == [(1, "a"), (2, "b")]


def test_a_gzip_file_cut_short_names_the_line_it_stops_at(tmp_path: Path) -> None:
    whole = gzip.compress(bytes(range(1, 256)) * 40 + b"\n" + b"second\n" * 1000, mtime=0)
    with pytest.raises(BadInputError, match=r"lines\.txt:\d+: the gzip file is truncated or damaged"):
        list(read_lines(written(tmp_path, whole[:-20])))


def test_a_gzip_file_with_a_changed_byte_is_damaged(tmp_path: Path) -> None:
    data = bytearray(gzip.compress(b"one line\n" * 100))
    data[-6] ^= 0xFF
    with pytest.raises(BadInputError, match="truncated or damaged"):
        list(read_lines(written(tmp_path, bytes(data))))


def test_a_folder_and_a_missing_file_are_reported_in_one_line(tmp_path: Path) -> None:
    for path, reason in ((tmp_path, "this is a folder"), (tmp_path / "no", "no such file")):
        with pytest.raises(BadInputError, match=reason) as raised:
            list(read_lines(path))
        assert str(raised.value).startswith(f"{path}: ")
        assert "\n" not in str(raised.value)


def test_bytes_that_are_not_utf8_spoil_their_own_line_only(tmp_path: Path) -> None:
    path = written(tmp_path, b"good\nab\xff\xfe\nalso good\n")
    assert list(read_lines(path)) == [(1, "good"), (2, BadLine("byte 3 of the line is not UTF-8")), (3, "also good")]


def test_a_giant_line_is_one_bad_line_and_the_next_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, b"x" * (2 * MAX_LINE_BYTES + 5) + b"\nnext\n")
    assert list(read_lines(path)) == [(1, BadLine("the line is longer than 16 MiB")), (2, "next")]


@pytest.mark.parametrize("data", [b"a\nb\n", gzip.compress(b"a\nb\n")], ids=["plain", "gzip"])
def test_a_dash_is_standard_input(data: bytes) -> None:
    program = "import pathlib, sayso.readers.files as l; print(list(l.read_lines(pathlib.Path('-'))))"
    done = subprocess.run([sys.executable, "-c", program], input=data, capture_output=True, check=True)
    assert done.stdout.decode().strip() == "[(1, 'a'), (2, 'b')]"


def test_progress_is_reported_in_bytes_of_the_file(tmp_path: Path) -> None:
    heard: list[int] = []
    list(read_lines(written(tmp_path, b"line\n" * 5000), heard.append))
    assert heard == sorted(heard)
    assert heard[-1] == 25_000


def test_byte_order_mark_and_windows_line_ends_are_stripped(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb")
    assert read_text(path, "names") == "a\nb"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (gzip.compress(b"text" * 99, mtime=0)[:-9], "truncated or damaged"),
        (b"a\nb\xff", "file:2: not UTF-8"),
        (b"", "contains no names"),
        (b" \n\n", "contains no names"),
    ],
)
def test_the_error_says_what_is_wrong(tmp_path: Path, data: bytes, reason: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(BadInputError, match=reason):
        read_text(path, "names")
