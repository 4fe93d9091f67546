from hypothesis import given
from hypothesis import strategies as st

from readers.strategies import sentences
from sayso.extract.gather import ShardSlice, by_pair, pairs_of, sentence_of, shard_of
from sayso.readers.jsonl import write_compact
from sayso.records import Sentence


def bare(sentence: Sentence) -> Sentence:
    return sentence._replace(relations=(), expresses=None)


@given(sentences())
def test_a_line_holds_a_sentence_without_its_labels(sentence: Sentence) -> None:
    assert sentence_of(write_compact(sentence)) == bare(sentence)
    assert "\n" not in write_compact(sentence)


@given(st.lists(sentences(), max_size=8))
def test_sorting_groups_the_sentences_of_a_pair(found: list[Sentence]) -> None:
    groups = list(by_pair(sorted(map(write_compact, found))))
    pairs = [pair for pair, _ in groups]
    assert len(pairs) == len(set(pairs)), "a pair stands in one place"
    assert set(pairs) == {sentence.pair for sentence in found} == pairs_of(map(write_compact, found))
    assert sorted(line for _, lines in groups for line in lines) == sorted(map(write_compact, found))
    assert all(sentence_of(line).pair == pair for pair, lines in groups for line in lines)


def test_the_shard_of_a_pair_is_the_same_everywhere() -> None:
    assert [shard_of("m.01", "m.02", num) for num in (1, 7, 1000)] == [0, 4, 693]


@given(st.lists(sentences(), max_size=8), st.integers(1, 4))
def test_every_line_is_in_one_slice_together_with_its_pair(found: list[Sentence], num: int) -> None:
    lines = list(map(write_compact, found))
    slices = [ShardSlice(number, num) for number in range(num)]
    assert sorted(line for each in slices for line in each.lines(lines)) == sorted(lines)
    for each in slices:
        assert pairs_of(each.lines(lines)) == {pair for pair in pairs_of(lines) if each.has(*pair)}


def test_slices_divide_the_pairs_of_a_shard_evenly() -> None:
    pairs = [pair for pair in ((f"m.{n}", f"m.{n + 1}") for n in range(8_000)) if shard_of(*pair, 8) == 3]
    sizes = [sum(ShardSlice(number, 8).has(*pair) for pair in pairs) for number in range(8)]
    assert sum(sizes) == len(pairs)
    assert max(sizes) < 2 * len(pairs) / 8
