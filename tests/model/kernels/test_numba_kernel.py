import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from sayso.model.kernels.numba_kernel import distinct_sequences, prefetch


@njit
def ask_for_all(table_YA: np.ndarray, num: int) -> None:
    for row in range(len(table_YA)):
        prefetch(table_YA, row, 1, num)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("num", [0, 1, 17, 100_000])
def test_prefetching_changes_nothing_even_beyond_the_table(dtype: str, num: int) -> None:
    table_YA = np.arange(60, dtype=dtype).reshape(3, 20)
    ask_for_all(table_YA, num)
    np.testing.assert_array_equal(table_YA, np.arange(60, dtype=dtype).reshape(3, 20))


def test_the_compiled_code_has_the_prefetch_instruction() -> None:
    ask_for_all(np.zeros((1, 20), np.float32), 20)
    assert all("prefetch" in program for program in ask_for_all.inspect_llvm().values())


@given(
    lengths=st.lists(st.integers(0, 7), min_size=1, max_size=5),
    before=st.integers(0, 2),
    length=st.integers(1, 5),
    # From 7,000 on five rows do not fit one number, and every token has a sequence of its own.
    most=st.sampled_from([2, 50, 7_000]),
    seed=st.integers(0, 99),
)
def test_every_token_finds_the_rows_its_window_covers(
    lengths: list[int], before: int, length: int, most: int, seed: int
) -> None:
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    row_T = np.random.default_rng(seed).integers(0, most, start[-1]).astype(np.int32)
    found = distinct_sequences(row_T, start, before, length)
    for s in range(len(lengths)):
        for t in range(start[s], start[s + 1]):
            places = range(t - before, t - before + length)
            expected = [int(row_T[z]) if start[s] <= z < start[s + 1] else -1 for z in places]
            assert found.row_XJ[found.index_T[t]].tolist() == expected


def test_a_sequence_that_repeats_is_kept_once() -> None:
    row_T = np.array([1, 2, 3, 1, 2, 3], np.int32)
    found = distinct_sequences(row_T, np.array([0, 3, 6], np.int32), 0, 2)
    assert found.row_XJ.tolist() == [[1, 2], [2, 3], [3, -1]]
    assert found.index_T.tolist() == [0, 1, 2, 0, 1, 2]
