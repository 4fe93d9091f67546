from hypothesis import given
from hypothesis import strategies as st

from sayso.documents.doubt import stands_alone, surroundings, word_after, word_before


def test_a_line_break_parts_two_names_unless_the_text_is_wrapped() -> None:
    wrapped = "This text is wrapped in lines of some length, as Lincoln\nBrewster says"
    assert word_after(wrapped, wrapped.index("\n")) == "Brewster"
    assert word_after("Lincoln\nBrewster", 7) == ""
    assert word_before("Hans\nEinstein", 5) == ""


def test_punctuation_and_possessives_part_two_names() -> None:
    for text in ("Hans, Einstein", "(Hans) Einstein", "Hans; Einstein", "Hans' Einstein", "Israel's Einstein"):
        assert surroundings(text, text.index("Einstein"), len(text), 0, 99).reason == ""


def test_a_sentence_start_has_its_capital_for_another_reason_if_the_word_is_elsewhere() -> None:
    text = "Embattled Ansett fell. Nobody liked the embattled firm."
    assert surroundings(text, 10, 16, 0, 99).reason == ""
    assert surroundings(text[:30], 10, 16, 0, 99).reason == 'part of "Embattled Ansett"'


@given(st.text(st.sampled_from("aBé.,’'\"\n -Ⅷ中"), max_size=30), st.integers(0, 30), st.integers(0, 30))
def test_any_text_has_surroundings(text: str, start: int, stop: int) -> None:
    start, stop = sorted((min(start, len(text)), min(stop, len(text))))
    found = surroundings(text, start, stop, -1, -1)
    assert not (stands_alone(text, start, stop) and found.reason), "the quick look misses nothing"
    assert found.reason.startswith("part of") or found.reason == ""
