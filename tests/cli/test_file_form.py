from pathlib import Path

import pytest

from sayso.cli.file_form import form_of
from sayso.errors import UserError

ENDINGS = {"lines": ".jsonl", "folder": "", "csv": ".csv", "pairs": ".jsonl"}


@pytest.mark.parametrize(
    ("name", "form"), [("a.csv", "csv"), ("a.jsonl", "lines"), ("a", "lines"), ("a.txt", "lines"), ("a.csv.d", "lines")]
)
def test_the_name_says_the_form_where_none_is_asked_for(name: str, form: str) -> None:
    assert form_of(Path(name), None, ENDINGS, "lines") == form


@pytest.mark.parametrize(("name", "asked"), [("a.csv", "csv"), ("a.jsonl", "pairs"), ("a.txt", "csv"), ("a", "folder")])
def test_the_form_that_is_asked_for_holds_where_the_name_allows_it(name: str, asked: str) -> None:
    assert form_of(Path(name), asked, ENDINGS, "lines") == asked


@pytest.mark.parametrize(("name", "asked"), [("a.csv", "lines"), ("a.jsonl", "csv"), ("a.csv", "folder")])
def test_a_name_of_another_form_is_refused(name: str, asked: str) -> None:
    with pytest.raises(UserError, match=f"{name}: a file of this name is of the form"):
        form_of(Path(name), asked, ENDINGS, "lines")
