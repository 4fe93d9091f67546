import random

from sayso.invent.coin import Coiner
from sayso.invent.vocabulary import new_coiner


def test_tens_of_thousands_of_words_are_coined_and_none_twice() -> None:
    coiner = Coiner([], random.Random(1))
    words = coiner.words(40_000) + coiner.surnames(700)
    assert len(set(words)) == 40_700
    assert all(word.isalpha() and word.istitle() and len(word) >= 5 for word in words)


def test_words_of_the_texts_are_not_coined() -> None:
    first = Coiner([], random.Random(1)).word()
    assert first not in Coiner([f"a {first.lower()} b"], random.Random(1)).words(500)


def test_no_name_is_a_word_of_a_template() -> None:
    assert not {"native", "capital", "monday", "springs"} & {w.lower() for w in new_coiner(random.Random(2)).words(9)}
