from hypothesis import given
from hypothesis import strategies as st

from sayso.bags.window import find_window
from sayso.records import Span


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
