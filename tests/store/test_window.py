from hypothesis import given
from hypothesis import strategies as st

from sayso.records import Span
from sayso.store.collect import find_window
from steps import growth


def test_a_short_sentence_is_read_whole() -> None:
    assert find_window(7, [Span(0, 1)], [Span(6, 7)], 130) == (0, 7)


def test_the_beginning_is_read_if_it_holds_both_mentions() -> None:
    assert find_window(200, [Span(10, 11)], [Span(129, 130)], 130) == (0, 130)


def test_the_closest_two_occurrences_count() -> None:
    assert find_window(300, [Span(0, 1), Span(250, 251)], [Span(255, 256)], 100) == (200, 300)


def test_mentions_too_far_apart_have_no_window() -> None:
    assert find_window(300, [Span(0, 1)], [Span(130, 131)], 130) is None


@given(st.integers(1, 60), st.integers(2, 40), st.data())
def test_a_window_holds_both_mentions_and_is_as_long_as_it_may_be(num_tokens: int, limit: int, data) -> None:
    start = st.integers(0, num_tokens - 1)
    heads = [Span(i, i + 1) for i in data.draw(st.lists(start, min_size=1, max_size=3))]
    tails = [Span(i, i + 1) for i in data.draw(st.lists(start, min_size=1, max_size=3))]
    window = find_window(num_tokens, heads, tails, limit)
    fits = any(max(h.stop, t.stop) - min(h.start, t.start) <= limit for h in heads for t in tails)
    assert (window is not None) == (fits or num_tokens <= limit)
    if window:
        first, last = window
        assert last - first == min(num_tokens, limit)
        assert 0 <= first <= last <= num_tokens
        assert any(first <= h.start and h.stop <= last for h in heads)
        assert any(first <= t.start and t.stop <= last for t in tails)


@given(st.data())
def test_the_window_is_that_of_the_closest_two_of_all_pairs(data: st.DataObject) -> None:
    places = st.lists(st.tuples(st.integers(0, 50), st.integers(1, 5)), min_size=1, max_size=6)
    heads, tails = ([Span(i, i + width) for i, width in data.draw(places)] for _ in range(2))
    pairs = [(min(h.start, t.start), max(h.stop, t.stop)) for h in heads for t in tails]
    start, stop = min(pairs, key=lambda pair: (pair[1] - pair[0], pair[0]))
    assert find_window(60, heads, tails, stop - start) in ((start, stop), (0, stop - start))
    assert find_window(60, heads, tails, stop - start - 1) is None


def test_thousands_of_mentions_take_work_in_proportion() -> None:
    def find(num: int) -> None:
        heads, tails = ([Span(i, i + 1) for i in range(first, 2 * num, 2)] for first in (0, 1))
        assert find_window(2 * num, heads, tails, 2) == (0, 2)

    assert growth(find, 50) < 6
