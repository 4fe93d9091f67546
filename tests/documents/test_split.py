import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.documents.split import blocks, split

pieces = st.sampled_from(
    ["Mr. ", "U.S. ", "Oslo", ". ", "! ", '?" ', "...", " ", "\n", "\n\n", "3.5", "he ", "The ", "。", "J. ", "’s"]
)


def sentences(text: str, *names: str) -> list[str]:
    stretches = [(text.index(name), text.index(name) + len(name)) for name in names]
    return [text[start:stop] for start, stop in split(text, stretches)]


@pytest.mark.parametrize(
    "text",
    [
        "Mr. Holt met Dr. J. R. Smith Jr. and Gen. Diaz.",
        "The U.S. Army paid 3.5 million dollars to Acme Inc. of St. Louis.",
        "He was No. 5 on p. 12 of vol. 3.",
        '"Did it rain?" asked Ana. '.strip(),
        "It went on... and on.",
        "It fell 3.5 percent on Jan. 5 and 0.5 on Feb. 6.",
        "Ana left at 5 p.m. Monday.",
        "Ana Diaz, a.k.a. A. Diaz, left.",
        "A wrapped line goes\non here\nand here",
    ],
)
def test_one_sentence_stays_one(text: str) -> None:
    assert sentences(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "Ana left.|Bo stayed.",
        "He lives in the U.S.|The house is old.",
        "“It rained!”|Bo laughed.",
        "(Ana left.)|Bo stayed.",
        "It went on…|Then it stopped.",
        "What?!|Nothing.",
        "in 1987.|In 1988 it fell.",
        "He works for Acme Inc.|It makes glass.",
        "ana lives in rome .|she sings .",
        "`` it rained . ''|ana left .",
        "東京は首都です。|大阪は違います。",
        "A title|\n\nThe text begins.",
        "One.|\nTwo.|\nThree",
    ],
)
def test_sentences_end_where_they_should(text: str) -> None:
    parts = text.split("|")
    joined = "".join(parts) if any(mark in text for mark in "\n。") else " ".join(parts)
    assert sentences(joined) == [part.strip() for part in parts]


def test_no_sentence_ends_inside_a_name() -> None:
    assert sentences("He joined Yahoo! Inc. There he stayed.", "Yahoo! Inc.") == [
        "He joined Yahoo! Inc.",
        "There he stayed.",
    ]
    assert sentences("I saw Who Is It? Part II yesterday.") == ["I saw Who Is It?", "Part II yesterday."]
    assert len(sentences("I saw Who Is It? Part II yesterday.", "Who Is It? Part II")) == 1


@given(st.lists(pieces, max_size=30).map("".join))
def test_sentences_are_in_order_and_leave_only_white_space(text: str) -> None:
    found = split(text)
    last = 0
    for start, stop in found:
        assert not text[last:start].strip()
        assert text[start:stop] == text[start:stop].strip() != ""
        last = stop
    assert not text[last:].strip()


@given(st.text())
def test_any_text_is_split(text: str) -> None:
    assert "".join("".join(text[a:b] for a, b in split(text)).split()) == "".join(text.split())


@given(st.lists(pieces, max_size=20), st.data())
def test_any_name_stays_whole(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)
    if text.strip():
        start = data.draw(st.integers(0, len(text) - 1))
        stop = data.draw(st.integers(start + 1, len(text)))
        name = (start, stop) if text[start:stop].strip() == text[start:stop] else (0, 0)
        assert name == (0, 0) or any(a <= start and stop <= b for a, b in split(text, [name]))


def test_a_row_of_a_hundred_thousand_stops_is_looked_at_once() -> None:
    text = "." * 100_000 + "x"
    assert split(text) == [(0, len(text))]


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
