import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from facts.decided import PLAIN, TOLD, make_decided
from sayso.facts.decided import Quote
from sayso.facts.spreadsheet_cell import bare, shielded
from sayso.facts.table import csv_table


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_every_quote_is_a_row_with_its_fact() -> None:
    told, plain = rows_of(csv_table([make_decided()]))
    assert told["head_id"] == plain["head_id"] == "Q1030"
    assert (told["prefix"], told["quote"], told["suffix"]) == TOLD[:3]
    assert (told["document"], told["start"], told["stop"]) == ("nyt/7", "120", "155")
    assert (plain["quote"], plain["document"], plain["start"]) == (PLAIN.exact, "", "")


def test_a_fact_without_quotes_is_one_row() -> None:
    (row,) = rows_of(csv_table([make_decided(quotes=())]))
    assert row["quote"] == ""
    assert row["relation"] == "/location/country/capital"


@given(reason=st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_any_reason_can_be_read_back(reason: str) -> None:
    (row,) = rows_of(csv_table([make_decided(reason=reason, quotes=())]))
    assert bare(row["reason"]) == reason


def test_a_spreadsheet_finds_no_formula_in_the_table() -> None:
    quote = Quote("- ", "@Windhoek is Namibia", "", 1, -2.5)
    (row,) = rows_of(csv_table([make_decided(reason="=HYPERLINK(1)", head_name="+1", quotes=(quote,))]))
    assert (row["reason"], row["head_name"]) == ("'=HYPERLINK(1)", "'+1")
    assert (row["prefix"], row["quote"]) == ("'- ", "'@Windhoek is Namibia")
    assert row["score"] == "-2.5"


def test_white_space_hides_no_formula() -> None:
    for text in ("\n=1+1", "\t=1+1", "\r@a", " =1+1", "\n", "＝1"):
        (row,) = rows_of(csv_table([make_decided(reason=text, quotes=())]))
        assert row["reason"] == f"'{text}"


def test_control_characters_are_escaped_and_read_back() -> None:
    assert shielded("a\tb\r\n\x1b[2J\0\x9b \\x1b") == "a\tb\r\n\\x1b[2J\\x00\\x9b \\x5cx1b"
    assert bare("\\x1b[2J\\x00 \\x5cx1b \\n") == "\x1b[2J\0 \\x1b \\n"
