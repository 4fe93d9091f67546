from pathlib import Path

import pytest

from sayso.errors import BadInputError
from sayso.readers.files import files_of, sha256_of, size_of
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


def test_the_folder_of_a_built_corpus_and_an_empty_one_are_told(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="this is a folder without a file in it"):
        files_of(tmp_path)
    (tmp_path / "train").mkdir()
    with pytest.raises(BadInputError, match="this folder holds a built corpus; name its sentences"):
        files_of(tmp_path)
