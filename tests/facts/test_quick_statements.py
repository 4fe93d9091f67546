from pathlib import Path

import pytest

from sayso.errors import BadInputError
from sayso.facts.quick_statements import quick_statements, read_ids
from toy_facts import make_decided, make_extracted


def test_a_line_for_each_quote_with_its_document_and_words() -> None:
    first, second = quick_statements(make_extracted()).splitlines()
    assert first.split("\t") == [
        "Q1030",
        "P36",
        "Q3935",
        "S854",
        '"https://example.org/7"',
        "S1683",
        'und:"So Windhoek is Namibia \'s capital ."',
        "/* sayso, model abc: probability 0.970 */",
    ]
    # The form cannot write a quotation mark inside a text.
    assert second.split("\t")[3:5] == ["S1683", "und:\"Namibia and 'Windhoek'\""]


def test_other_ids_need_a_table() -> None:
    fact = make_decided()
    assert quick_statements(fact) == ""
    assert quick_statements(fact, {fact.relation: "P36"}).startswith("Q1030\tP36\tQ3935\tS1683\t")


def test_the_table_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "ids.tsv"
    path.write_text("capital\tP36\n\nm.05bcl\thttp://www.wikidata.org/entity/Q1030\n")
    assert read_ids(path) == {"capital": "P36", "m.05bcl": "http://www.wikidata.org/entity/Q1030"}
    path.write_text("capital\tP36\ncapital\n")
    with pytest.raises(BadInputError, match=r"ids\.tsv:2: expected an id and a Wikidata id"):
        read_ids(path)
