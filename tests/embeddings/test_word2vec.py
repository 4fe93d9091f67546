import gzip
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from sayso.embeddings.word2vec import read_word_vectors, write_word_vectors
from sayso.errors import BadInputError, UserError

SLOPPY = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6).filter(
    lambda word: word.encode().split() == [word.encode()]
)
FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


def floats(*values: float) -> bytes:
    return np.array(values, dtype="<f4").tobytes()


def written(folder: Path, content: bytes) -> Path:
    path = folder / "vectors"
    path.write_bytes(content)
    return path


@st.composite
def vocabularies(draw):
    words = draw(st.lists(WORDS, min_size=1, max_size=6, unique=True))
    width = draw(st.integers(2, 6))
    return words, draw(arrays.arrays(np.float32, (len(words), width), elements=FLOATS))


@SLOPPY
@given(vocabularies(), st.booleans(), st.booleans())
@example((["0"], np.frombuffer(b" DGY" * 5, "<f4")[None]), True, False)
def test_round_trip_preserves_everything(tmp_path, vocabulary, binary, packed):
    words, matrix = vocabulary
    path = tmp_path / "vectors"
    write_word_vectors(path, words, matrix, binary)
    if packed:
        path.write_bytes(gzip.compress(path.read_bytes()))
    vectors = read_word_vectors(path)
    assert vectors.words == words
    assert vectors.matrix.dtype == np.float32
    assert vectors.matrix.tobytes() == matrix.tobytes()
    assert vectors.num_repeats == 0


@SLOPPY
@given(
    st.one_of(
        st.binary(max_size=200),
        st.builds(
            lambda header, rest: header + rest, st.sampled_from([b"2 3\n", b"1 1\n", b"1 9\n"]), st.binary(max_size=60)
        ),
        st.text("0123456789 .\n-exyz\t", max_size=80).map(str.encode),
        st.builds(lambda text: gzip.compress(text)[:-4], st.binary(max_size=40)),
    )
)
def test_any_bytes_are_read_or_refused_with_a_clear_error(tmp_path, content):
    with suppress(UserError):
        vectors = read_word_vectors(written(tmp_path, content))
        assert len(vectors.words) == len(vectors.matrix) == len(set(vectors.words))
        assert np.isfinite(vectors.matrix).all()


@pytest.mark.parametrize("end", [b"", b"\n"], ids=["as gensim writes", "as the original program writes"])
def test_binary_vectors_may_have_a_line_end_each(tmp_path, end):
    path = written(tmp_path, b"2 2\na " + floats(1, 2) + end + b"b " + floats(3, 4) + end)
    vectors = read_word_vectors(path)
    assert (vectors.words, vectors.matrix.tolist()) == (["a", "b"], [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    "content",
    [b"2 2\na 1 2\nb 3 4\n", b"a 1 2\nb 3 4\n", b"a\t1\t2\r\nb\t3\t4\r\n", b"a 1 2 \nb 3 4 \n\n", b"a 1 2\nb 3 4"],
    ids=["header", "no header", "tabs and Windows line ends", "spaces at the end", "no line end at the end"],
)
def test_common_text_formats_are_read(tmp_path, content):
    vectors = read_word_vectors(written(tmp_path, content))
    assert (vectors.words, vectors.matrix.tolist()) == (["a", "b"], [[1, 2], [3, 4]])


def test_only_wanted_words_are_kept(tmp_path):
    for binary in (True, False):
        path = tmp_path / f"vectors{binary}"
        write_word_vectors(path, ["a", "b", "c"], np.eye(3, dtype=np.float32), binary)
        vectors = read_word_vectors(path, {"c", "a", "z"})
        assert (vectors.words, vectors.matrix.tolist()) == (["a", "c"], [[1, 0, 0], [0, 0, 1]])


def test_rows_that_cross_the_blocks_of_a_large_binary_file_are_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr("sayso.embeddings.word2vec._BLOCK_BYTES", 64)
    monkeypatch.setattr("sayso.embeddings.word2vec._MAX_WORD_BYTES", 32)
    words = [f"word{i}" for i in range(3_000)]
    matrix = np.random.default_rng(0).normal(size=(3_000, 7)).astype(np.float32)
    write_word_vectors(tmp_path / "v", words, matrix, binary=True)
    vectors = read_word_vectors(tmp_path / "v")
    assert vectors.words == words
    assert (vectors.matrix == matrix).all()


def test_the_first_vector_of_a_repeated_word_counts(tmp_path, caplog):
    vectors = read_word_vectors(written(tmp_path, b"a 1 2\na 3 4\nb 5 6\na 7 8\n"))
    assert (vectors.words, vectors.matrix.tolist(), vectors.num_repeats) == (["a", "b"], [[1, 2], [5, 6]], 2)
    assert "2 repeated words; the first vector of each is used" in caplog.text


def test_words_with_spaces_of_large_glove_files_are_read(tmp_path):
    vectors = read_word_vectors(written(tmp_path, b"a 1 2\n. . . 3 4\nat name@domain.com 5 6\n"))
    assert vectors.words == ["a", ". . .", "at name@domain.com"]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "contains no vectors"),
        (b"hello\n", ":1: not a vector file"),
        (b"0 3\n", "invalid header: 0 words, vector width 3"),
        (b"1 99999999\na 1\n", "invalid header: 1 words, vector width 99,999,999"),
        (b"a 1 2\nb 3\n", ":2: expected 2 numbers, got 1"),
        (b"a 1 2\nb 3 4 5\n", ":2: expected 2 numbers, got 3"),
        (b"a 1 2\nb 3 x\n", ":2: 'x' is not a number"),
        (b"a 1 2\nb 3 nan\n", ":2: a number is not finite"),
        (b"a 1 2\nb 3 1e39\n", ":2: a number is not finite"),
        (b"a 1 2\n\xff 3 4\n", ":2: byte 1 of the word is not UTF-8"),
        (b"3 2\na 1 2\nb 3 4\n", ":1: the header declares 3 words, but there are 2"),
        (b"1 2\na 1 2\nb 3 4\n", ":3: the header declares 1 words, but there are more"),
        (b"1 6\na 1 2 3 four 5 6\n", ":2: 'four' is not a number"),
        (b"2 2\na " + floats(1, 2) + b"b " + floats(3, 4)[:-1], ": word 2: the file is truncated"),
        (b"2 2\na " + floats(1, 2), ": word 2: the file is truncated"),
        (b"1 2\na " + floats(1, 2) + b"b " + floats(3, 4), "more data after the 1 words"),
        (b"2 2\na " + floats(1, 2) + b"\nb " + floats(3, np.inf), ": word 2: a number is not finite"),
        (b"2 2\na " + floats(1, 2) + b"\xff " + floats(3, 4), ": word 2: byte 1 of the word is not UTF-8"),
        (b"2 2\na " + floats(1, 2) + b" " + floats(3, 4), ": word 2: the word is empty"),
        (b"2 2\na " + floats(1, 2) + b"x\ny " + floats(3, 4), "header's width does not match"),
        (b"1 8\n" + b"\x00" * 70_000, ": word 1: no end of the word found"),
        (gzip.compress(b"a 1 2\n" * 9, mtime=0)[:-5], "truncated or damaged"),
    ],
)
def test_a_fault_is_named_with_its_place(tmp_path, content, complaint):
    with pytest.raises(BadInputError) as caught:
        read_word_vectors(written(tmp_path, content))
    assert str(caught.value).startswith(str(tmp_path / "vectors"))
    assert complaint in str(caught.value)


def test_a_folder_and_a_missing_file_are_refused(tmp_path):
    with pytest.raises(BadInputError, match="this is a folder"):
        read_word_vectors(tmp_path)
    with pytest.raises(BadInputError, match="no such file"):
        read_word_vectors(tmp_path / "absent")


@pytest.mark.parametrize("word", ["", "el paso", "a\tb", "a\n"])
def test_a_word_with_white_space_is_not_written(tmp_path, word):
    with pytest.raises(BadInputError, match="cannot contain it"):
        write_word_vectors(tmp_path / "v", [word], np.zeros((1, 2), np.float32), binary=True)
    assert list(tmp_path.iterdir()) == []


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "v"
    write_word_vectors(path, ["old"], np.ones((1, 2), np.float32), binary=False)
    broken = np.array([[1.0, 2.0], ["x", 3.0]], dtype=object)
    with pytest.raises(TypeError):
        write_word_vectors(path, ["a", "b"], broken, binary=False)
    assert list(tmp_path.iterdir()) == [path]
    assert read_word_vectors(path).words == ["old"]
