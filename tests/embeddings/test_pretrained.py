import gzip
import os
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sayso.embeddings.pretrained import VectorKind, measure_coverage, read_entity_vectors, vectors_for
from sayso.embeddings.word2vec import write_word_vectors
from sayso.errors import BadInputError, UserError


@pytest.fixture
def path(tmp_path):
    words = ["el", "paso", "new_york", "new"]
    matrix = np.array([[1, 0], [0, 1], [5, 5], [9, 9]], dtype=np.float32)
    write_word_vectors(tmp_path / "v", words, matrix, binary=True)
    return tmp_path / "v"


def test_a_joined_name_gets_the_mean_of_its_parts(path):
    matrix, kind = vectors_for(["el_paso"], path)
    assert matrix.tolist() == [[0.5, 0.5]]
    assert kind.tolist() == [VectorKind.PARTS]


def test_a_vector_of_its_own_comes_before_the_parts(path):
    matrix, kind = vectors_for(["new_york", "paso"], path)
    assert matrix.tolist() == [[5, 5], [0, 1]]
    assert kind.tolist() == [VectorKind.OWN, VectorKind.OWN]


def test_parts_without_a_vector_do_not_count_in_the_mean(path):
    matrix, kind = vectors_for(["el_nowhere"], path)
    assert matrix.tolist() == [[1, 0]]
    assert kind.tolist() == [VectorKind.PARTS]


def test_a_word_without_any_vector_is_zero_and_has_kind_none(path):
    matrix, kind = vectors_for(["nowhere", "no_where", "_", "", "el"], path)
    assert matrix[:4].tolist() == [[0, 0]] * 4
    assert kind.tolist() == [VectorKind.NONE] * 4 + [VectorKind.OWN]


def test_words_that_no_row_covers_keep_the_width_of_the_file(path):
    matrix, kind = vectors_for(["nowhere"], path)
    assert matrix.shape == (1, 2)
    assert kind.dtype == np.uint8


def test_coverage_counts_words_and_tokens():
    kinds = np.array([VectorKind.OWN, VectorKind.NONE, VectorKind.PARTS, VectorKind.OWN])
    found = measure_coverage(kinds, np.array([10, 3, 2, 5]))
    assert [found[f"{kind}_words"] for kind in ("own", "parts", "none")] == [2, 1, 1]
    assert [found[f"{kind}_tokens"] for kind in ("own", "parts", "none")] == [15, 2, 3]


def test_coverage_of_nothing_is_zero():
    assert set(measure_coverage(np.zeros(0, np.uint8), np.zeros(0, np.int64)).values()) == {0}


def test_the_real_vectors_are_read_whole():
    folder = Path(os.environ.get("SAYSO_DATA", Path(__file__).parents[3] / "shared" / "data"))
    path = folder / "vectors" / "glove-100d.bin"
    if not path.exists():
        pytest.skip(f"no real data at {path}; set SAYSO_DATA")
    matrix, kind = vectors_for(["the", "new", "york", "new_york_zzqq"], path)
    assert matrix.shape == (4, 100)
    assert kind.tolist() == [VectorKind.OWN] * 3 + [VectorKind.PARTS]
    assert np.allclose(matrix[3], (matrix[1] + matrix[2]) / 2)


def openke(folder, rows="0.5\t1.5\n2.5\t3.5\n4.5\t-5.5\n", ids="3\nm.a\t0\nm.b\t2\nm.c\t1\n"):
    (folder / "entity2id.txt").write_text(ids)
    path = folder / "entity2vec.vec"
    path.write_text(rows)
    return path


def test_ids_of_rows_come_from_the_file_in_the_same_folder(tmp_path):
    ids, matrix = read_entity_vectors(openke(tmp_path))
    assert ids == ["m.a", "m.c", "m.b"]
    assert matrix.tolist() == [[0.5, 1.5], [2.5, 3.5], [4.5, -5.5]]


def test_only_wanted_entities_are_kept(tmp_path):
    ids, matrix = read_entity_vectors(openke(tmp_path), {"m.b", "m.z"})
    assert (ids, matrix.tolist()) == (["m.b"], [[4.5, -5.5]])


def test_tabs_at_the_end_of_rows_and_gzip_do_not_matter(tmp_path):
    path = openke(tmp_path, rows="0.5\t1.5\t\n2.5\t3.5\t\n4.5\t-5.5\t\n")
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert read_entity_vectors(path)[1].shape == (3, 2)


@pytest.mark.parametrize("binary", [True, False])
def test_one_word2vec_file_with_ids_for_words_is_read_too(tmp_path, binary):
    path = tmp_path / "entities"
    write_word_vectors(path, ["/m/01", "Q42"], np.array([[1, 2, 3], [4, 5, 6]], np.float32), binary)
    ids, matrix = read_entity_vectors(path, {"Q42"})
    assert (ids, matrix.tolist()) == (["Q42"], [[4, 5, 6]])


@pytest.mark.parametrize(
    ("rows", "ids", "complaint"),
    [
        ("1.5\t2\n3\n", "2\na\t0\nb\t1\n", "entity2vec.vec:2: expected 2 numbers, got 1"),
        ("1.5\t2\n3\tx\n", "2\na\t0\nb\t1\n", "entity2vec.vec:2: 'x' is not a number"),
        ("1.5\t2\n3\tinf\n", "2\na\t0\nb\t1\n", "entity2vec.vec:2: a number is not finite"),
        ("1.5\t2\n3\t4\n", "1\na\t0\n", "entity2vec.vec:2: no entity in entity2id.txt has row 1"),
        ("1.5\t2\n", "2\na\t0\nb\t1\n", "expected 2 rows, one per entity in entity2id.txt, got 1"),
        ("1.5\t2\n", "a\t0\n", "entity2id.txt:1: expected the number of entities"),
        ("1.5\t2\n", "5\na\t0\n", "entity2id.txt:1: declares 5 entities, but the file lists 1"),
        ("1.5\t2\n", "1\na 0 0\n", "entity2id.txt:2: expected an entity id and its row"),
        ("1.5\t2\n", "2\na\t0\nb\t0\n", "entity2id.txt:3: row 0 already belongs to a"),
        ("1.5\t2\n3\t4\n", "2\na\t0\na\t1\n", "an entity id has two rows"),
        ("", "1\na\t0\n", "contains no vectors"),
        ("1.5\t" * 65_537, "1\na\t0\n", "entity2vec.vec:1: expected at most 65,536 numbers, got 65,537"),
    ],
)
def test_a_fault_is_named_with_its_place(tmp_path, rows, ids, complaint):
    with pytest.raises(BadInputError) as caught:
        read_entity_vectors(openke(tmp_path, rows, ids))
    assert complaint in str(caught.value)


def test_rows_without_the_file_of_ids_are_refused(tmp_path):
    path = openke(tmp_path)
    (tmp_path / "entity2id.txt").unlink()
    with pytest.raises(BadInputError, match=r"expected entity2id\.txt in the same folder"):
        read_entity_vectors(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=60), st.text("0123ab\t\n .", max_size=40))
def test_any_bytes_are_read_or_refused_with_a_clear_error(tmp_path, rows, ids):
    path = openke(tmp_path, "", ids)
    path.write_bytes(b"1.5\t2\n" + rows)
    with suppress(UserError):
        names, matrix = read_entity_vectors(path)
        assert len(names) == len(matrix)
