import numpy as np
import pytest
from numba import njit

from sayso.model.kernels.numba_kernel import prefetch


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
