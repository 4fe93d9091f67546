import pytest
from pydantic import ValidationError

from sayso.facts.quote import quote_of
from sayso.records import Span
from sayso.serve.try_it.worker import MAX_CHARACTERS, MAX_SENTENCES, Question, bag_of, marked_sentence
from steps import growth


def question(*sentences: str, **more: object) -> Question:
    values = {"sentences": sentences, "heads": ["Namibia"], "tails": ["Windhoek"]}
    return Question.model_validate(values | more)


def test_every_name_of_an_entity_is_marked() -> None:
    sentence = marked_sentence("Windhoek, the capital, is in Namibia.", ["Namibia"], ["Windhoek", "the capital"])
    assert sentence.tail.spans == (Span(0, 1), Span(2, 4))
    assert sentence.tail.name == "Windhoek"


def test_a_name_inside_a_longer_one_does_not_count() -> None:
    sentence = marked_sentence("South Sudan borders Sudan .", ["South Sudan", "South"], ["Sudan"])
    assert sentence.head.spans == (Span(0, 2),)
    assert sentence.tail.spans == (Span(3, 4),)


def test_a_sentence_counts_once_and_empty_ones_do_not() -> None:
    bag = bag_of(
        question("Windhoek lies in Namibia.", " ", "Windhoek  lies in Namibia.", "Namibia has Windhoek."), print
    )
    assert [sentence.text for sentence in bag.sentences] == ["Windhoek lies in Namibia .", "Namibia has Windhoek ."]


def test_a_sentence_is_shown_as_it_was_written() -> None:
    (sentence,) = bag_of(question("  Windhoek, Namibia’s  capital (since 1990). "), print).sentences
    assert sentence.text == "Windhoek , Namibia 's capital ( since 1990 ) ."
    assert sentence.written == "Windhoek, Namibia’s capital (since 1990)."


def test_a_sentence_without_a_name_is_left_out_and_named() -> None:
    warnings: list[str] = []
    bag = bag_of(question("Windhoek lies in Namibia.", "Namibia is dry.", "Namibia has Windhoek."), warnings.append)
    assert [sentence.text for sentence in bag.sentences] == ["Windhoek lies in Namibia .", "Namibia has Windhoek ."]
    assert warnings == ["Left out: sentence 2: 'Windhoek' does not appear in “Namibia is dry.”."]


def test_without_any_usable_sentence_the_first_is_named() -> None:
    with pytest.raises(ValueError, match=r"sentence 1: 'Windhoek' does not appear in “Namibia is dry.”"):
        bag_of(question("Namibia is dry.", "Namibia is large."), print)
    with pytest.raises(ValueError, match="head and tail are the same words"):
        bag_of(question("Namibia, Namibia.", tails=["Namibia"]), print)


def test_types_go_by_the_first_name() -> None:
    assert question("x", head_type="/location/country", tails=["Windhoek", "it"]).types == {
        "Namibia": "/location/country"
    }


@pytest.mark.parametrize(
    "values",
    [
        {"sentences": []},
        {"sentences": ["", "  "]},
        {"sentences": ["x"] * (MAX_SENTENCES + 1)},
        {"sentences": ["x" * (MAX_CHARACTERS + 1)]},
        {"sentences": ["x" * MAX_CHARACTERS] * 11},
        {"heads": []},
        {"tails": [""]},
        {"threshold": 2},
        {"unheard_of": 1},
    ],
)
def test_too_much_or_too_little_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        question("x", **values)


def test_a_sentence_full_of_mentions_takes_work_in_proportion() -> None:
    def mark(num: int) -> None:
        sentence = marked_sentence("Ana Diaz met Bo " * num, ["Ana", "Ana Diaz"], ["Bo"])
        quote_of(sentence, 1, 1.0)

    assert growth(mark, 50) < 6


def test_a_control_character_in_a_name_is_refused() -> None:
    with pytest.raises(ValidationError, match="control character"):
        Question(sentences=["Ana met Bo"], heads=["Ana\tmet"], tails=["Bo"])
