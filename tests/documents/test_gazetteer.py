import itertools
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.documents.gazetteer import Gazetteer, NameMatch
from sayso.documents.knowledge import Names


def found_in(text: str, names: Names, **settings: str) -> list[tuple[str, tuple[str, ...]]]:
    gazetteer = Gazetteer(names, **settings)  # type: ignore[arg-type]
    return [(text[each.start : each.stop], each.entity_ids) for each in gazetteer.find(text)]


def only_names(text: str, *names: str, **settings: str) -> list[str]:
    return [name for name, _ in found_in(text, {str(number): (name,) for number, name in enumerate(names)}, **settings)]


def test_the_longest_name_wins_then_the_first() -> None:
    names = ("New York", "New York City", "City Council of Oslo", "York")
    assert only_names("New York City Council", *names) == ["New York City"]
    assert only_names("New York City Council of Oslo", *names) == ["New York", "City Council of Oslo"]
    assert only_names("Ana Bo Ana", "Ana Bo", "Bo Ana") == ["Ana Bo"]


def test_a_name_is_whole_words() -> None:
    assert only_names("Romeo, Oslo's, Osloer, (Rome), O'Rome, Rome-based", "Rome", "Oslo") == ["Oslo", "Rome", "Rome"]
    assert only_names("Jean-Paul met Paul; Paul-Marie too; anti-Paul", "Paul") == ["Paul"]
    assert only_names("O’Neill's AT&T, U.S.-Mexico", "O'Neill", "AT&T", "U.S.", "Mexico") == [
        "O’Neill",
        "AT&T",
        "U.S.",
        "Mexico",
    ]


def test_a_name_goes_over_a_line_end_but_not_over_an_empty_line() -> None:
    assert only_names("New\nYork, New \n\n York, New_York", "New York") == ["New\nYork", "New_York"]


@pytest.mark.parametrize(
    ("case", "found"),
    [("capitals", ["Oslo", "OSLO", "US"]), ("exact", ["Oslo", "US"]), ("ignore", ["Oslo", "oslo", "OSLO", "US"])],
)
def test_case_rules(case: str, found: list[str]) -> None:
    assert only_names("Oslo oslo OSLO US us", "Oslo", "US", case=case) == found


def test_a_name_in_small_letters_may_have_capitals() -> None:
    assert only_names("windhoek Windhoek", "windhoek") == ["windhoek", "Windhoek"]


def test_the_name_that_is_written_just_so_goes_before_others() -> None:
    names = {"a": ("Turkey",), "b": ("TURKEY",)}
    assert found_in("Turkey TURKEY", names) == [("Turkey", ("a",)), ("TURKEY", ("b",))]


def test_all_entities_with_the_name_are_given() -> None:
    assert found_in("Springfield", {"b": ("Springfield",), "a": ("Springfield",)}) == [("Springfield", ("a", "b"))]


def test_accents_may_be_written_as_one_character_or_as_two() -> None:
    split = unicodedata.normalize("NFD", "Orléans")
    assert only_names(f"in {split} .", "Orléans") == [split]
    assert only_names("in Orléans .", split) == ["Orléans"]


def test_letters_whose_lower_case_is_longer_do_not_shift_what_follows() -> None:
    assert only_names("İzmir and Oslo", "Oslo", "İzmir") == ["İzmir", "Oslo"]


def test_common_words_and_single_letters_are_passed_over_and_counted() -> None:
    gazetteer = Gazetteer({"a": ("May", "X", "1984", "Holt"), "b": ("US", "acme")}, stop_names={"acme"})
    assert list(gazetteer.find("May X 1984 US Acme")) == [NameMatch(11, 13, ("b",))]
    assert gazetteer.stopped.counts == {"no letters": 1, "common words": 1, "single letters": 1, "on your list": 1}
    assert gazetteer.stopped.shown == {
        "no letters": ["1984"],
        "common words": ["May"],
        "single letters": ["X"],
        "on your list": ["acme"],
    }


words = st.sampled_from(["Ana", "Bo", "Rome", "rome", "ANA", "of"])


def test_names_that_texts_do_not_write_as_separate_words_are_counted() -> None:
    gazetteer = Gazetteer(
        {"beijing": ("北京", "Beijing"), "bangkok": ("กรุงเทพ",), "seoul": ("서울",), "cairo": ("القاهرة",)}
    )
    assert gazetteer.unspaced.counts == {"in a script without spaces between words": 2}
    assert [gazetteer.entity_ids_of(name) for name in ("北京", "서울", "القاهرة")] == [
        ("beijing",),
        ("seoul",),
        ("cairo",),
    ]
    assert not gazetteer.find("我住在北京市")


phrases = st.lists(words, min_size=1, max_size=3).map(" ".join)


def naive(text: str, names: Names) -> list[tuple[int, int]]:
    """The definition: match every name at every position; keep the longest, then the first, without overlap."""
    places = set()
    for name in {name for found in names.values() for name in found}:
        if name == "of":
            continue
        for match in re.finditer(rf"(?={re.escape(name)}\b)", text, re.IGNORECASE):
            start, stop = match.start(), match.start() + len(name)
            is_start = start == 0 or not text[start - 1].isalnum()
            # Names of three letters are written as they are; others may have further capitals.
            written = text[start:stop]
            fits = (
                written == name
                if len(name.replace(" ", "")) <= 3
                else all(mine in (letter, letter.upper()) for mine, letter in zip(written, name, strict=True))
            )
            if is_start and fits:
                places.add((start, stop))
    taken: list[tuple[int, int]] = []
    for start, stop in sorted(places, key=lambda place: (place[0] - place[1], place[0])):
        if all(stop <= other[0] or other[1] <= start for other in taken):
            taken.append((start, stop))
    return sorted(taken)


@given(st.lists(phrases, min_size=1, max_size=6, unique=True), st.lists(words, max_size=12).map(" ".join))
def test_the_automaton_finds_what_looking_for_every_name_everywhere_finds(names: list[str], text: str) -> None:
    table = {str(number): (name,) for number, name in enumerate(names)}
    assert [(each.start, each.stop) for each in Gazetteer(table).find(text)] == naive(text, table)


@given(st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=5), st.text(max_size=60))
def test_any_names_and_any_text_give_spans_in_order(names: list[str], text: str) -> None:
    table = {str(number): (name.strip() or "x",) for number, name in enumerate(names)}
    found = Gazetteer(table).find(text)
    assert all(before.stop <= after.start for before, after in itertools.pairwise(found))
    assert all(0 <= each.start < each.stop <= len(text) for each in found)
