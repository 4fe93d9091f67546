import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sayso.features.mentions import FARTHEST, model_input
from sayso.records import Mention, Sentence, Span
from sayso.store.vocabulary import Vocabulary
from steps import growth
from toy import group_by_pair, make_sentence

MANY_WORDS = 1000


def shown(text: str, appearance: str, head: str = "h", tail: str = "t", max_tokens: int = 130):
    """Return the tokens (types as /0, /1), distances and pieces of a sentence; head has type 0, tail type 1."""
    vocabulary = Vocabulary()
    table = group_by_pair([make_sentence(text, head, tail)], vocabulary, max_tokens).table
    result = model_input(table, appearance, MANY_WORDS, np.array([0, 1]))
    words = list(vocabulary.words)
    tokens = [words[row] if row < MANY_WORDS else f"/{row - MANY_WORDS}" for row in result.tokens.value]
    return " ".join(tokens), *(a.tolist() for a in (result.head_distance_T, result.tail_distance_T, result.piece_T))


def test_words_stay_as_they_are() -> None:
    assert shown("so h met t there", "words") == (
        "so h met t there",
        [-1, 0, 1, 2, 3],
        [-3, -2, -1, 0, 1],
        [0, 0, 1, 1, 2],
    )


def test_types_replace_every_occurrence() -> None:
    text, head, tail, piece = shown("h met t and h", "type")
    assert text == "/0 met /1 and /0"
    assert head == [0, 1, 2, -1, 0]
    assert tail == [-2, -1, 0, 1, 2]
    assert piece == [0, 1, 1, 2, 2]


def test_one_type_token_stands_for_a_mention_of_several_words() -> None:
    assert shown("El Paso lies in West Texas now", "type", "El Paso", "West Texas")[0] == "/0 lies in /1 now"


def test_type_and_words_keep_both_at_distance_zero() -> None:
    text, head, tail, _ = shown("in El Paso , Texas", "type_and_words", "El Paso", "Texas")
    assert text == "in /0 El Paso , /1 Texas"
    assert head == [-1, 0, 0, 0, 1, 2, 3]
    assert tail == [-5, -4, -3, -2, -1, 0, 0]


def test_words_without_vector_are_the_unknown_word() -> None:
    table = group_by_pair([make_sentence("h met t")], Vocabulary()).table
    assert model_input(table, "words", 2, np.array([0, 1])).tokens.value.tolist() == [1, 0, 0]


def test_only_the_window_is_read_and_distances_count_in_it() -> None:
    text, head, _, _ = shown("a b c d h e t f", "words", max_tokens=5)
    assert text == "d h e t f"
    assert head == [-1, 0, 1, 2, 3]


def test_pieces_follow_the_closest_two_occurrences_whichever_comes_first() -> None:
    assert shown("h a b t c h d", "words")[3] == [0, 0, 0, 0, 1, 1, 2]


@given(st.integers(3, 20), st.data())
def test_distances_equal_a_plain_loop(num_tokens: int, data) -> None:
    places = data.draw(st.lists(st.integers(0, num_tokens - 1), min_size=2, max_size=6, unique=True))
    cut = data.draw(st.integers(1, len(places) - 1))
    heads, tails = sorted(places[:cut]), sorted(places[cut:])
    mentions = [
        Mention(name, name, tuple(Span(i, i + 1) for i in where)) for name, where in (("h", heads), ("t", tails))
    ]
    sentence = Sentence(tuple(f"w{i}" for i in range(num_tokens)), *mentions)
    result = model_input(group_by_pair([sentence], Vocabulary()).table, "words", MANY_WORDS, np.array([0, 1]))
    for got, where in ((result.head_distance_T, heads), (result.tail_distance_T, tails)):
        assert np.abs(got).tolist() == [min(abs(i - j) for j in where) for i in range(num_tokens)]
        assert all(i - d in where for i, d in enumerate(got.tolist()))


def test_far_distances_are_capped() -> None:
    text = "h " + "x " * 128 + "t"
    assert shown(text, "words")[1][-1] == FARTHEST


def test_a_sentence_full_of_mentions_is_shown_with_work_in_proportion() -> None:
    def show(num: int) -> None:
        shown("h t " * num, "words", max_tokens=5000)

    assert growth(show, 50) < 5
