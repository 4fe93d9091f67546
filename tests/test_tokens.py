import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.tokens import Span, apart_from, control_character, keep_apart, locate, locate_freely, tokenise
from steps import growth

few_words = st.lists(st.sampled_from(["a", "b", "a_b", "b_a", "c"]), min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("text", "name", "spans"),
    [
        ("ana met ana", "ana", ((0, 1), (2, 3))),
        ("from el_paso to rome", "el_paso", ((1, 2),)),
        ("from el paso to rome", "el_paso", ((1, 3),)),
        ("from el_paso to rome", "el paso", ((1, 2),)),
        ("san_francisco bay", "san_francisco_bay", ((0, 2),)),
        ("anna and hannah", "ann", ()),
        ("new_york_city", "york", ()),
        ("a a a", "a a", ((0, 2),)),
        ("any words", "_", ()),
    ],
)
def test_a_name_is_found_joined_or_not_but_only_as_whole_words(
    text: str, name: str, spans: tuple[tuple[int, int], ...]
) -> None:
    assert locate(text.split(), name) == spans


@given(tokens=few_words, name=few_words.map("_".join))
def test_what_is_found_spells_the_name(tokens: list[str], name: str) -> None:
    for start, stop in locate(tokens, name):
        assert "_".join(tokens[start:stop]) == name


@given(tokens=few_words, data=st.data())
def test_what_stands_there_is_found(tokens: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(tokens) - 1))
    stop = data.draw(st.integers(start + 1, len(tokens)))
    assert locate(tokens, "_".join(tokens[start:stop]))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Windhoek, Namibia's capital.", "Windhoek , Namibia 's capital ."),
        ("Mr. Nujoma flew to the U.S. today!", "Mr. Nujoma flew to the U.S. today !"),
        ("He works for Acme Inc.", "He works for Acme Inc."),
        ('She said ("so it is").', 'She said ( " so it is " ) .'),
        ("They don't like the states' laws; we do.", "They do n't like the states ' laws ; we do ."),
        ("Namibia’s port", "Namibia 's port"),
        ("At 5 p.m., 1,000 met at st. louis", "At 5 p.m. , 1,000 met at st. louis"),
        ("so it goes...", "so it goes..."),
        ("", ""),
    ],
)
def test_punctuation_and_possessives_stand_alone_and_abbreviations_keep_their_stops(text: str, tokens: str) -> None:
    assert tokenise(text) == tokens.split()


@pytest.mark.parametrize(
    "text",
    [
        "mr. nujoma , a native of windhoek , namibia 's capital -lrb- see (3) -rrb- .",
        "he did n't leave the u.s. in '98",
        "no sign that it was tokenised",
    ],
)
def test_text_that_is_tokenised_already_passes_unchanged(text: str) -> None:
    assert tokenise(text) == text.split()


@given(st.text(max_size=60))
def test_tokenising_loses_no_character_and_makes_no_empty_token(text: str) -> None:
    tokens = tokenise(text)
    assert all(tokens)
    assert "".join(tokens).replace("’", "'") == "".join(text.split()).replace("’", "'")


def test_a_name_is_found_in_its_own_case_first_and_in_any_case_otherwise() -> None:
    tokens = tokenise("They told us that the US envoy left OSLO for Yahoo!'s office")
    assert locate_freely(tokens, "US") == ((5, 6),)
    assert locate_freely(tokens, "oslo") == ((8, 9),)
    assert locate_freely(tokens, "Yahoo!") == ((10, 12),)
    assert locate_freely(tokens, "rome") == ()


def spans(data: st.DataObject) -> list[Span]:
    places = data.draw(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 4)), max_size=6))
    return [Span(start, start + width) for start, width in places]


@given(st.data())
def test_spans_apart_from_others_share_no_token_with_any(data: st.DataObject) -> None:
    mine, others = spans(data), spans(data)
    assert apart_from(mine, others) == tuple(span for span in mine if not any(span.overlaps(other) for other in others))


def test_keeping_thousands_of_mentions_apart_takes_work_in_proportion() -> None:
    def keep(num: int) -> None:
        heads, tails = (tuple(Span(i, i + 1) for i in range(first, 2 * num, 2)) for first in (0, 1))
        keep_apart(heads, tails)

    assert growth(keep, 50) < 6


def test_a_name_that_a_joined_token_holds_many_times_is_looked_for_token_by_token() -> None:
    def look(num: int) -> None:
        assert locate(["_".join("a" * num), "b"], "a_a") == ()

    assert growth(look, 50) < 2


@pytest.mark.parametrize("name", ["Q1\tP36\tQ2", "a\nb", "\x1b[31m", "a\x7f", "a\x9b", "a\u2028b", "a\x00"])
def test_a_control_character_is_found_in_any_of_the_names(name: str) -> None:
    assert control_character("Windhoek", name)


def test_names_in_other_scripts_and_with_special_spaces_have_no_control_character() -> None:
    assert not control_character("Việt Nam", "می‌خواهم", "a\u00a0b", "\ufeffQ1", "עִבְרִית", "El\u00adPaso")
