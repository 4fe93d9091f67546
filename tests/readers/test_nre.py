import pytest

from sayso.readers.base import BadLineError
from sayso.readers.nre import parse, recognises

LINE = "m.1\tm.2\tana_diaz\trome\t/people/person/place_of_birth\tana_diaz was born in rome .\t###END###"


def test_a_line_is_a_sentence() -> None:
    sentence = parse(LINE)
    assert sentence.pair == ("m.1", "m.2")
    assert sentence.head.name == "ana_diaz"
    assert sentence.relations == ("/people/person/place_of_birth",)


def test_na_is_no_relation() -> None:
    assert parse(LINE.replace("/people/person/place_of_birth", "NA")).relations == ()


@pytest.mark.parametrize("ending", ["", "\t###END###", " ###END###"])
def test_the_end_mark_may_be_missing_or_stand_in_the_last_column(ending: str) -> None:
    text = LINE.removesuffix("\t###END###") + ending
    if ending.startswith(" "):
        with pytest.raises(BadLineError):
            parse(text)
    else:
        assert parse(text).tokens[-1] == "."


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("m.1\tm.2\tana", "expected 6 columns and ###END###, got 3"),
        (LINE + "\tmore", "expected 6 columns and ###END###, got 8"),
        (LINE.replace("m.1", ""), "an entity id or the relation is empty"),
        (LINE.replace("ana_diaz was born in rome .", " "), "the sentence is empty"),
    ],
)
def test_the_error_says_what_is_wrong(line: str, reason: str) -> None:
    with pytest.raises(BadLineError, match=reason):
        parse(line)


def test_json_with_tabs_does_not_have_this_format() -> None:
    assert not recognises('{"text": "a\tb\tc\td\te\tf"}')
