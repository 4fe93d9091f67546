import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("numba")
from sayso.model.kernels.sequence import distinct_sequences


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
