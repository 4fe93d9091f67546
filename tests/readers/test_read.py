import gzip
from pathlib import Path

import pytest

from sayso.errors import BadInputError
from sayso.readers.read import Tally, read_sentences, refuse_unknown_form

GOOD = "m.1\tm.2\tann\trome\t/lived\tann lived in rome .\t###END###\n"


def read(path: Path, **settings):
    tally = Tally(path, settings.pop("form", "auto"))
    return list(read_sentences(path, tally, **settings)), tally


def test_the_form_is_detected_from_the_first_lines_even_if_one_is_bad(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("rubbish\n" + GOOD)
    sentences, tally = read(path)
    assert (tally.form, len(sentences), tally.num_bad) == ("nre", 1, 1)
    assert tally.shown[0].startswith(f"{path}:1: ")


def test_a_file_in_an_unknown_format_is_refused_with_the_list_of_formats(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("a,b,c\n" * 20)
    with pytest.raises(BadInputError, match=r"x\.txt:1: unknown format \(nre: .*crowdtruth: "):
        read(path)


def test_a_relation_outside_the_inventory_is_a_bad_line(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text(GOOD + GOOD.replace("/lived", "/died"))
    sentences, tally = read(path, relations={"/lived"})
    assert len(sentences) == 1
    assert tally.shown == [f"{path}:2: relation '/died' is not in the inventory"]


def test_na_needs_no_place_in_the_inventory(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text(GOOD.replace("/lived", "NA"))
    assert read(path, relations={"/lived"})[1].num_bad == 0


def test_too_many_bad_lines_are_refused_with_the_first_of_them(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text(GOOD * 8 + GOOD.replace("ann lived", "bob lived") * 2)
    _, tally = read(path)
    assert not tally.has_too_many_bad(0.2)
    with pytest.raises(BadInputError, match=r"x\.txt:9: head mention 'ann' is not in the sentence \(2 of 10 lines"):
        tally.refuse_too_many_bad(0.1)
    assert tally.num_bad_with("is not in the sentence") == 2


def test_only_the_first_bad_lines_are_kept_but_all_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text(GOOD + "bad\n" * 100)
    _, tally = read(path)
    assert (len(tally.shown), tally.num_bad) == (20, 100)


def test_a_given_format_is_not_detected_again(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text(GOOD)
    assert read(path, form="jsonl")[1].num_bad == 1


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(BadInputError, match="unknown format; choose one of auto, nre"):
        refuse_unknown_form("xml")


def test_progress_is_reported_in_bytes(tmp_path: Path) -> None:
    path = tmp_path / "x.txt.gz"
    path.write_bytes(gzip.compress((GOOD * 5000).encode()))
    seen: list[int] = []
    read(path, on_bytes=seen.append)
    assert seen
    assert max(seen) <= path.stat().st_size
