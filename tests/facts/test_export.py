import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.errors import BadInputError
from sayso.facts.export import (
    FORMS,
    QUOTE_FORMS,
    bare,
    csv_table,
    decision_lines,
    quick_statements,
    read_ids,
    shielded,
    triple_line,
)
from sayso.facts.quote import Quote
from sayso.facts.web_annotation import web_annotations
from sayso.readers.tables import SentenceDecision, read_decisions
from sayso.records import Source
from toy_facts import PLAIN, TOLD, make_decided, make_decided_quote, make_extracted


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


REJECTED = TOLD._replace(decision="rejected", reason="negated */ x")


def test_a_rejected_quote_is_no_evidence_and_its_reason_is_in_the_file() -> None:
    fact = make_decided(relation="P36", quotes=(REJECTED, PLAIN))
    (line,) = quick_statements(fact).splitlines()
    assert "Windhoek is Namibia" not in line
    assert line.endswith(", rejected quotes: negated  x */")
    told, plain = rows_of(csv_table([fact]))
    assert (told["quote_decision"], told["quote_reason"]) == ("rejected", REJECTED.reason)
    assert (plain["quote_decision"], plain["quote_reason"]) == ("", "")
    (item,) = json.loads(FORMS["jsonld"].write([fact]))["first"]["items"]
    assert len(item["target"]) == 1
    (rejected,) = item["sayso:rejectedQuote"]
    assert rejected["sayso:reason"] == REJECTED.reason
    assert rejected["selector"]["refinedBy"]["exact"] == REJECTED.exact
    (about,) = json.loads(decision_lines([fact]))["quotes"]
    place = {"id": "nyt/7", "start": 120, "stop": 155}
    assert about == {"decision": "rejected", "reason": REJECTED.reason, "sentence": TOLD.sentence, "document": place}


def test_decisions_with_quotes_are_read_as_before(tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    path.write_text(decision_lines([make_decided(quotes=(REJECTED,))]))
    (decision,) = read_decisions(path)
    assert (decision.fact, decision.decision) == (make_decided().triple, "accepted")
    assert decision.quotes == (SentenceDecision(REJECTED.sentence, "rejected", REJECTED.reason),)
    path.write_text(path.read_text().replace('"decision": "rejected"', '"decision": "perhaps"'))
    with pytest.raises(BadInputError, match=r"decisions\.jsonl:1: 'decision' is 'perhaps'"):
        list(read_decisions(path))


def test_every_decision_on_a_quote_is_a_row_and_wrong_entities_are_exceptions() -> None:
    made = [
        make_decided_quote(),
        make_decided_quote(decision="accepted", reason="", quote=PLAIN),
        make_decided_quote(reason="wrong entity (head)"),
        make_decided_quote(reason="wrong entity (head)", relation="other"),
        make_decided_quote(reason="wrong entity (tail)"),
        make_decided_quote(reason="wrong entity (tail)", quote=PLAIN),
    ]
    rows = rows_of(QUOTE_FORMS["quotes"].write(made))
    assert [row["quote_decision"] for row in rows] == ["rejected", "accepted", *["rejected"] * 4]
    assert (rows[0]["quote_reason"], rows[0]["annotator"], rows[0]["start"]) == ("negated", "Ada", "120")
    # The quote without a document has no place to correct.
    assert QUOTE_FORMS["exceptions"].write(made) == "nyt/7\t120\t155\tQ1030\nnyt/7\t120\t155\tQ3935\n"


INJECTED = "Q1\tP36\tQ2\nQ1030"


def test_an_id_with_a_line_end_writes_no_triple_that_nobody_accepted() -> None:
    facts = [make_decided(head_id=INJECTED), make_decided()]
    kept, num_left_out = FORMS["triples"].keep(facts)
    assert FORMS["triples"].write(kept) == "Q1030\t/location/country/capital\tQ3935\n"
    assert num_left_out == 1
    assert triple_line(make_extracted(tail_id="a\u2028b")) == ""


def test_no_form_gives_an_injected_id_a_line_of_its_own() -> None:
    for name, form in FORMS.items():
        if name != "csv":  # in which a cell may have lines, in quotes
            kept, _ = form.keep([make_decided(head_id=INJECTED, model_fingerprint=INJECTED, quotes=(TOLD, PLAIN))])
            assert not [line for line in form.write(kept).splitlines() if line.startswith("Q1030\t")], name


def test_a_comment_of_quick_statements_cannot_be_closed_from_inside() -> None:
    quote = TOLD._replace(prefix="a || Q1\tP2\tQ3 \x1b ", source=Source("http://x.org/a|b", 0, 5))
    fact = make_decided(relation="P36", model_fingerprint="a */\nQ1\tP1\tQ2", quotes=(quote,))
    (line,) = quick_statements(fact).splitlines()
    assert line.count("*/") == 1
    assert line.endswith("*/")
    assert "\n" not in line
    assert "||" not in line
    assert "\x1b" not in line
    assert line.count("\t") == 5


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


def test_a_line_says_who_decided_what_about_which_fact() -> None:
    lines = decision_lines([make_decided(decision="rejected", reason="no\nsentence"), make_decided()]).splitlines()
    rejected, accepted = map(json.loads, lines)
    assert rejected == {
        "head": "Q1030",
        "tail": "Q3935",
        "relation": "/location/country/capital",
        "head_name": "Namibia",
        "tail_name": "Windhoek",
        "decision": "rejected",
        "by": "Ada",
        "at": "2026-01-02T03:04:05.678+00:00",
        "reason": "no\nsentence",
    }
    assert accepted["decision"] == "accepted"


def test_an_entity_that_the_knowledge_base_does_not_have_is_marked_in_every_form() -> None:
    fact, known = make_decided(head_id="new:place/Namibia"), make_decided()
    assert (fact.new_entities, known.new_entities) == (("head",), ())
    assert json.loads(fact.to_json())["new_entities"] == ["head"]
    extracted = make_extracted(head_id="new:place/Namibia", tail_id="new:place/Windhoek")
    assert extracted.to_dict()["new_entities"] == ["head", "tail"]
    rows = list(csv.DictReader(io.StringIO(csv_table([fact, known]))))
    assert {(row["head_id"], row["new_entities"]) for row in rows} == {("new:place/Namibia", "head"), ("Q1030", "")}
    assert json.loads(decision_lines([fact]))["new_entities"] == ["head"]
    assert "new_entities" not in json.loads(decision_lines([known]))
    statement = json.loads(web_annotations([fact]))["first"]["items"][0]["body"][0]
    assert statement["rdf:subject"]["sayso:isNewEntity"] is True
    assert "sayso:isNewEntity" not in statement["rdf:object"]
    assert quick_statements(replace(extracted, relation="P36")) == ""


def test_an_empty_reason_is_left_out() -> None:
    assert "reason" not in json.loads(decision_lines([make_decided(reason="")]))
