from extract.toy_facts import make_found
from facts.decided import PLAIN, TOLD, make_decided
from sayso.facts.forms import FORMS, triple_line
from sayso.facts.quick_statements import quick_statements
from sayso.records import Source

INJECTED = "Q1\tP36\tQ2\nQ1030"


def test_an_id_with_a_line_end_writes_no_triple_that_nobody_accepted() -> None:
    facts = [make_decided(head_id=INJECTED), make_decided()]
    kept, num_left_out = FORMS["triples"].keep(facts)
    assert FORMS["triples"].write(kept) == "Q1030\t/location/country/capital\tQ3935\n"
    assert num_left_out == 1
    assert triple_line(make_found(tail_id="a\u2028b")) == ""


def test_no_form_gives_an_injected_id_a_line_of_its_own() -> None:
    for name, form in FORMS.items():
        if name != "csv":  # in which a cell may have lines, in quotes
            kept, _ = form.keep([make_decided(head_id=INJECTED, model_fingerprint=INJECTED, quotes=(TOLD, PLAIN))])
            assert not [line for line in form.write(kept).splitlines() if line.startswith("Q1030\t")], name


def test_a_remark_of_quick_statements_cannot_be_ended_from_inside() -> None:
    quote = TOLD._replace(prefix="a || Q1\tP2\tQ3 \x1b ", source=Source("http://x.org/a|b", 0, 5))
    fact = make_decided(relation="P36", model_fingerprint="a */\nQ1\tP1\tQ2", quotes=(quote,))
    (line,) = quick_statements(fact)
    assert line.count("*/") == 1
    assert line.endswith("*/")
    assert "\n" not in line
    assert "||" not in line
    assert "\x1b" not in line
    assert line.count("\t") == 5
