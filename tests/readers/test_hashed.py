from hypothesis import given
from hypothesis import strategies as st

from sayso.readers.hashed import HashedRows, num_distinct, portions

HASHES = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 5)


@given(st.lists(st.tuples(HASHES, HASHES), max_size=60), st.integers(1, 60))
def test_distinct_hashes_are_counted_exactly_in_memory_and_on_disk(rows: list[tuple[int, int]], most_held: int) -> None:
    streams = [HashedRows(2, most_held), HashedRows(2, most_held)]
    for number, (first, second) in enumerate(rows):
        # The second hash depends on the first, as that of a pair's sentence does on the pair.
        streams[number % 2].add((first, hash((first, second))))
    assert num_distinct(streams, 0) == len({first for first, _ in rows})
    assert num_distinct(streams, 1) == len({hash(row) for row in rows})


def test_rows_that_begin_alike_come_in_one_portion() -> None:
    stream = HashedRows(1, most_held=4)
    for number in range(40):
        stream.add((number % 10,))
    found = [set(rows[:, 0].tolist()) for rows in portions([stream])]
    assert len(found) > 1
    assert sum(map(len, found)) == 10
