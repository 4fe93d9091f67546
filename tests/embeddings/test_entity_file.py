import gzip
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sayso.embeddings.entity_file import read_entity_vectors
from sayso.embeddings.word2vec import write_word_vectors
from sayso.errors import BadInputError, UserError


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
