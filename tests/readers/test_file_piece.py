from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from extract.toy_corpus import sentences, write
from sayso.errors import BadInputError, UserError
from sayso.readers.file_piece import FilePiece, PieceRecord, corpus_files, first_bad_lines, new_pieces, piece_digest

LINES = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=12), min_size=1, max_size=12)


def done(piece: FilePiece) -> PieceRecord:
    lines = list(piece.lines())
    return PieceRecord(piece, piece_digest(piece), len(lines), len(lines), 0, [])


def without_marks(lines: list[str]) -> list[str]:
    """Return the lines as they are read: a byte order mark at the beginning of a line is left out."""
    return [line.removeprefix("\ufeff") for line in lines]


@given(LINES, st.integers(1, 40), st.booleans())
@example(["\ufeff"], 1, False)
def test_pieces_have_every_line_once_and_in_order(lines: list[str], size: int, ends: bool) -> None:
    text = "\n".join(lines) + "\n" * ends
    if not text:
        return
    with TemporaryDirectory() as folder:
        path = Path(folder, "c.txt")
        path.write_bytes(text.encode())
        pieces = list(new_pieces([path], [], "nre", size))
        assert [piece.number for piece in pieces] == list(range(len(pieces)))
        read = [line for piece in pieces for _, line in piece.lines()]
        assert read == without_marks(lines if ends or lines[-1] else lines[:-1])
        assert sum(piece.size for piece in pieces) == len(text.encode())
        assert list(new_pieces([path], list(map(done, pieces)), "nre", size)) == []


@given(LINES, LINES, st.integers(1, 40))
def test_a_file_that_grows_gives_what_was_added(before: list[str], after: list[str], size: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "c.txt")
        path.write_bytes("".join(f"{line}\n" for line in before).encode())
        records = [done(piece) for piece in new_pieces([path], [], "nre", size)]
        with path.open("ab") as file:
            file.write("".join(f"{line}\n" for line in after).encode())
        pieces = list(new_pieces([path], records, "nre", size))
        assert [line for piece in pieces for _, line in piece.lines()] == without_marks(after)
        assert pieces[0].number == len(records)


def test_a_last_line_without_end_must_not_grow(tmp_path: Path) -> None:
    path = tmp_path / "c.txt"
    path.write_text("one\ntwo")
    records = [done(piece) for piece in new_pieces([path], [], "nre", 100)]
    path.write_text("one\ntwo more\n")
    with pytest.raises(UserError, match=r"c\.txt: text was appended to its last line, which did not end in a newline"):
        list(new_pieces([path], records, "nre", 100))


def test_another_corpus_is_distinguished_from_a_missing_file(tmp_path: Path) -> None:
    before, other = tmp_path / "before.txt", tmp_path / "other.txt"
    before.write_text("one\n")
    other.write_text("two\n")
    records = [done(piece) for piece in new_pieces([before], [], "nre", 100)]
    with pytest.raises(UserError, match=r"before\.txt: .* but not of this corpus: use the same corpus"):
        list(new_pieces([other], records, "nre", 100))
    before.unlink()
    with pytest.raises(UserError, match=r"before\.txt: part of the earlier extraction, but now missing"):
        list(new_pieces([other], records, "nre", 100))


def test_a_sentence_on_several_lines_is_not_cut(tmp_path: Path) -> None:
    path = tmp_path / "c.txt"
    path.write_text('1\t"<e1>oslo</e1> is in <e2>norway</e2> ."\nlocated\nComment:\n\n' * 9)
    (piece,) = new_pieces([path], [], "auto", 10)
    assert (piece.form, piece.is_whole) == ("tagged", True)


def test_lines_are_numbered_from_the_beginning_of_their_file() -> None:
    piece = FilePiece(0, "a", "nre", 0, 9, False)
    records = [
        PieceRecord(piece, "", 10, 9, 1, [(3, "x")]),
        PieceRecord(piece._replace(file="b"), "", 5, 4, 1, [(5, "y")]),
        PieceRecord(piece, "", 10, 9, 1, [(2, "z")]),
    ]
    assert list(first_bad_lines(records)) == ["a:3: x", "b:5: y", "a:12: z"]


def test_a_built_corpus_is_all_of_its_sentences(tmp_path: Path) -> None:
    for name in ("train", "rest", "contexts"):
        write(tmp_path / name / "0.jsonl", sentences(range(1)))
    assert [file.parent.name for file in corpus_files(tmp_path)] == ["train", "rest"]
    (tmp_path / "rest" / "0.jsonl").unlink()
    assert [file.parent.name for file in corpus_files(tmp_path)] == ["train"]


def test_a_pipe_or_a_missing_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not standard input or a pipe"):
        corpus_files(Path("-"))
    with pytest.raises(BadInputError, match="no such file or directory"):
        corpus_files(tmp_path / "absent")
    (tmp_path / "empty").touch()
    with pytest.raises(BadInputError, match="contains no sentences"):
        corpus_files(tmp_path / "empty")
