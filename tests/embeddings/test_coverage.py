import os
from pathlib import Path

import numpy as np
import pytest

from sayso.embeddings.coverage import VectorKind, measure_coverage, vectors_for
from sayso.embeddings.word2vec import write_word_vectors


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
