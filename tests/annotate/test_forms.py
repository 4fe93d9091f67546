import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sayso.annotate.marks import ERASER_FILE, FORMS, read_any
from sayso.errors import BadInputError
from sayso.records import Mark

ids = st.sampled_from(["m.01", "m.02", "a|b", "50%", "=cmd()", "'quoted"])
# A sentence is any tokens separated by single spaces.
tokens = st.text(st.characters(exclude_categories=("Z", "C")), min_size=1, max_size=6)
sentences = st.lists(tokens, min_size=1, max_size=4).map(" ".join)
marks = st.builds(
    Mark,
    head_id=ids,
    tail_id=ids,
    relation=st.sampled_from(["/location/country/capital", "-born", "has, comma"]),
    sentence=sentences,
    label=st.sampled_from(["rationale", "irrelevant"]),
    annotator=st.sampled_from(["", "Ada", "+Ben|x", "Zoë"]),
)


def unique(marks: list[Mark]) -> list[Mark]:
    """Return one mark per annotator, fact and sentence, as a database stores them."""
    return list(
        {(mark.head_id, mark.tail_id, mark.relation, mark.sentence, mark.annotator): mark for mark in marks}.values()
    )


def there_and_back(name: str, marks: list[Mark]) -> tuple[int, list[Mark]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"marks{FORMS[name].suffix}"
        num_left_out = FORMS[name].write(path, marks)
        return num_left_out, read_any(path)


@pytest.mark.parametrize("name", ["jsonl", "csv", "eraser"])
@settings(max_examples=60)
@given(st.lists(marks, min_size=1, max_size=8).map(unique))
def test_what_is_written_is_read_back_the_same(name: str, marks: list[Mark]) -> None:
    num_left_out, again = there_and_back(name, marks)
    assert num_left_out == 0
    assert sorted(again) == sorted(marks)


@settings(max_examples=60)
@given(st.lists(marks, min_size=1, max_size=8).map(unique))
def test_tuples_written_again_are_the_same_tuples(marks: list[Mark]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder) / "first.jsonl", Path(folder) / "second.jsonl"
        FORMS["tuples"].write(first, marks)
        again = read_any(first) if first.read_text() else []
        FORMS["tuples"].write(second, set(again))
        assert sorted(second.read_text().splitlines()) == sorted(first.read_text().splitlines())


def mark(sentence: str, label: str, annotator: str = "") -> Mark:
    return Mark("h", "t", "capital", sentence, label, annotator)


def test_a_tuple_for_each_rationale_with_each_irrelevant_sentence() -> None:
    marks = [mark("a", "rationale"), mark("b", "rationale"), mark("c", "irrelevant"), mark("d", "unsure")]
    num_left_out, again = there_and_back("tuples", marks)
    assert num_left_out == 1
    assert again == [mark("a", "rationale"), mark("c", "irrelevant"), mark("b", "rationale"), mark("c", "irrelevant")]


def test_tuples_follow_the_majority_and_need_both_sides(tmp_path: Path) -> None:
    votes = [mark("a", "rationale", "Ada"), mark("a", "rationale", "Ben"), mark("a", "irrelevant", "Cleo")]
    assert FORMS["tuples"].write(tmp_path / "none.jsonl", votes) == 3
    assert (tmp_path / "none.jsonl").read_text() == ""
    assert there_and_back("tuples", [*votes, mark("b", "irrelevant", "Ada")])[0] == 0


def test_unsure_is_kept_by_json_lines_and_csv_and_has_no_place_in_eraser() -> None:
    marks = [mark("a", "unsure", "Ada"), mark("b", "rationale", "Ada")]
    assert there_and_back("jsonl", marks) == (0, marks)
    assert there_and_back("csv", marks) == (0, marks)
    assert there_and_back("eraser", marks) == (1, marks[1:])


def test_a_spreadsheet_finds_no_formula_in_the_table(tmp_path: Path) -> None:
    FORMS["csv"].write(tmp_path / "a.csv", [mark("=1+1 , x", "rationale", "@ada")])
    assert "'@ada" in (tmp_path / "a.csv").read_text()
    assert '"\'=1+1 , x"' in (tmp_path / "a.csv").read_text()


def test_a_bad_line_is_reported_and_nothing_is_imported(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"head": "h", "tail": "t", "relation": "r", "sentence": "s"}\n')
    with pytest.raises(BadInputError, match=r"a\.jsonl:1: .*'label'"):
        read_any(tmp_path / "a.jsonl")
    (tmp_path / "b.csv").write_text("head,tail\n")
    with pytest.raises(BadInputError, match=r"b\.csv:1: expected the header head,tail,relation"):
        read_any(tmp_path / "b.csv")
    (tmp_path / "c.csv").write_text("head,tail,relation,sentence,label,by\nh,t\n")
    with pytest.raises(BadInputError, match=r"c\.csv:2: expected 6 columns, got 2"):
        read_any(tmp_path / "c.csv")


@pytest.mark.parametrize("name", ["jsonl", "csv"])
def test_a_label_that_there_is_not_is_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"marks{FORMS[name].suffix}"
    FORMS[name].write(path, [mark("a", "rationale"), mark("b", "Relevant")])
    refusal = r":[23]: 'Relevant' is not a label; choose one of rationale, irrelevant, unsure"
    with pytest.raises(BadInputError, match=refusal):
        read_any(path)


def test_an_eraser_folder_can_be_named_whole(tmp_path: Path) -> None:
    FORMS["eraser"].write(tmp_path / "marks", [mark("a", "rationale")])
    assert read_any(tmp_path / "marks") == read_any(tmp_path / "marks" / ERASER_FILE) == [mark("a", "rationale")]
