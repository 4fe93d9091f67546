from hypothesis import given
from hypothesis import strategies as st

from sayso.documents.block import blocks


@given(st.text("ab \n", max_size=60), st.integers(2, 9))
def test_blocks_make_up_the_text_and_none_is_too_long(text: str, most: int) -> None:
    found = list(blocks(text, most))
    assert "".join(text[start:stop] for start, stop in found) == text
    assert all(0 < stop - start <= most for start, stop in found)


def test_an_empty_line_is_the_first_choice_then_a_line_then_a_space() -> None:
    assert next(iter(blocks("aa\n\nb\nc d", 8))) == (0, 4)
    assert next(iter(blocks("aaaa\nb cdd", 8))) == (0, 5)
    assert next(iter(blocks("aaaa b cdd", 8))) == (0, 7)
    assert next(iter(blocks("aaaaaaaaaa", 8))) == (0, 8)
