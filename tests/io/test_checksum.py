import logging
import os
import zlib
from pathlib import Path

import pytest

from sayso.errors import BadInputError
from sayso.io.checksum import ChangedError, CheckedFiles, FileSum, sum_of, sums_of


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "a").write_bytes(b"content" * 500_000)
    return tmp_path / "a"


def files_of(file: Path, in_memory: bool = False) -> CheckedFiles:
    sums = {name: FileSum(**found) for name, found in sums_of(file.parent, [file.name]).items()}
    return CheckedFiles(file.parent, sums, "make it again", in_memory)


def test_the_sum_is_the_size_and_the_crc_of_the_whole_content(file: Path) -> None:
    assert sum_of(file) == (3_500_000, zlib.crc32(file.read_bytes()))


@pytest.mark.parametrize("in_memory", [False, True])
def test_a_file_as_it_was_written_is_given(file: Path, in_memory: bool) -> None:
    files = files_of(file, in_memory)
    assert files.path("a") == file
    assert files.read("a") == file.read_bytes()


@pytest.mark.parametrize("open_file", [CheckedFiles.path, CheckedFiles.read])
def test_what_was_changed_cut_short_or_added_is_refused_with_the_remedy(file: Path, open_file: object) -> None:
    files, content = files_of(file), file.read_bytes()
    file.write_bytes(content[:99] + b"?" + content[100:])
    with pytest.raises(BadInputError, match=r"a: damaged or changed .*the checksum differs\): make it again"):
        open_file(files, "a")
    file.write_bytes(content[:99])
    with pytest.raises(BadInputError, match="a: expected 3,500,000 bytes, got 99: make it again"):
        open_file(files, "a")
    (file.parent / "b").touch()
    with pytest.raises(BadInputError, match="b: this file is not in the manifest"):
        open_file(files, "b")


def test_a_file_is_compared_once(file: Path) -> None:
    files = files_of(file)
    files.path("a")
    file.write_bytes(b"")
    assert files.path("a") == file


def test_no_verify_trusts_all_files(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = files_of(file)
    file.write_bytes(b"other")
    monkeypatch.setenv("SAYSO_NO_VERIFY", "1")
    assert files.path("a") == file
    assert files.read("a") == b"other"


def test_a_folder_without_checksums_is_said_once(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            CheckedFiles(file.parent, None, "make it again").read("a")
    (record,) = caplog.records
    assert "made by an early version without checksums" in record.getMessage()
    assert record.getMessage().endswith("make it again")


def test_what_becomes_of_a_file_that_was_read_is_noticed(file: Path) -> None:
    files = files_of(file, in_memory=True)
    content = files.read("a")
    files.refuse_changed()
    os.utime(file, (1, 1))
    file.rename(file.with_name("moved"))
    file.write_bytes(content)
    files.refuse_changed()  # another file, but the same content
    os.truncate(file, 10)
    with pytest.raises(ChangedError, match="a: the file has changed since it was opened"):
        files.refuse_changed()
    file.unlink()
    with pytest.raises(ChangedError, match="a: the file can no longer be read"):
        files.refuse_changed()
