from hypothesis import given
from hypothesis import strategies as st

from sayso.readers.survey import HashedRows, Surveyor, grouped, num_distinct, summarise
from toy import make_sentence


def surveyor(*sentences) -> Surveyor:
    result = Surveyor()
    for sentence in sentences:
        result.add(sentence)
    return result


def test_a_small_corpus_counted_by_hand() -> None:
    survey = summarise(
        [
            surveyor(
                make_sentence("a_b met c", "a_b", "c", ("r",)),
                make_sentence("a_b met c", "a_b", "c", ("s",)),
                make_sentence("a b met c", "c", "a", ()),
                make_sentence("c saw c saw d", "c", "d", ("r",)),
            )
        ],
        typed=["a_b", "c"],
    )
    assert survey["sentences"] == 4
    assert survey["distinct_sentences"] == 2  # joined names do not make another sentence
    assert survey["duplicate_sentences"] == 1
    assert survey["na_sentences"] == 1
    assert (survey["pairs"], survey["positive_pairs"], survey["facts"], survey["relations"]) == (3, 2, 3, 2)
    assert (survey["entities"], survey["untyped_entities"]) == (4, 2)
    assert survey["mentions_repeated"] == 1
    assert (survey["length_median"], survey["length_max"]) == (3, 5)
    assert (survey["bag_size_mean"], survey["bag_size_max"], survey["bags_of_one"]) == (1.0, 1, 3)


def test_two_files_are_one_corpus() -> None:
    first, second = surveyor(make_sentence("h of t")), surveyor(make_sentence("h of t"), make_sentence("t by h"))
    whole = summarise([first, second])
    assert (whole["sentences"], whole["pairs"], whole["duplicate_sentences"], whole["bag_size_max"]) == (3, 1, 1, 2)


def test_nothing_counts_as_nothing() -> None:
    survey = summarise([Surveyor()])
    assert (survey["sentences"], survey["pairs"], survey["bag_size_mean"], survey["length_max"]) == (0, 0, 0.0, 0)


HASHES = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 5)


@given(st.lists(st.tuples(HASHES, HASHES), max_size=60), st.integers(1, 60))
def test_distinct_hashes_are_counted_exactly_in_memory_and_on_disk(rows: list[tuple[int, int]], most_held: int) -> None:
    streams = [HashedRows(2, most_held), HashedRows(2, most_held)]
    for number, (first, second) in enumerate(rows):
        # The second hash depends on the first, as that of a pair's sentence does on the pair.
        streams[number % 2].add((first, hash((first, second))))
    assert num_distinct(streams, 0) == len({first for first, _ in rows})
    assert num_distinct(streams, 1) == len({hash(row) for row in rows})


def test_rows_with_the_same_first_hash_come_in_one_batch() -> None:
    stream = HashedRows(1, most_held=4)
    for number in range(40):
        stream.add((number % 10,))
    found = [set(rows[:, 0].tolist()) for rows in grouped([stream])]
    assert len(found) > 1
    assert sum(map(len, found)) == 10
