from pathlib import Path

import pytest

from sayso.embeddings.exclusion import Exclusion, read_pairs
from sayso.errors import BadInputError, LeakageError, UserError
from sayso.records import Triple

NRE = "m.1\tm.2\tada\tlondon\tNA\tada saw london\t###END###\n"


def test_pairs_come_from_any_form_of_sentences(tmp_path):
    path = tmp_path / "test.txt"
    path.write_text(NRE + "m.9\tm.3\tada\tparis\t/lived_in\tada saw paris\t###END###\n")
    assert read_pairs([path], 0.0) == {("m.1", "m.2"), ("m.3", "m.9")}


def test_pairs_come_from_two_columns(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("b\ta\n\nc\td\na\tb\n")
    assert read_pairs([path], 0.0) == {("a", "b"), ("c", "d")}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("a\tb\nc\n", ":2: two entity ids"),
        ("a\tb\nc\t\n", ":2: two entity ids"),
        ("a\tb\tc\n", "no form"),
        ("", "holds no sentences"),
        (NRE + "m.1\tm.2\tada\tnowhere\tNA\tada saw london\t###END###\n", ":2: tail mention 'nowhere' is not in"),
    ],
)
def test_a_file_whose_pairs_cannot_be_known_is_refused(tmp_path, content, complaint):
    path = tmp_path / "test"
    path.write_text(content)
    with pytest.raises(UserError) as caught:
        read_pairs([path], 0.0)
    assert complaint in str(caught.value)


def test_facts_of_a_pair_are_left_out_in_both_directions_and_counted(tmp_path):
    exclusion = Exclusion({("a", "b")})
    facts = [Triple("a", "r", "b"), Triple("b", "s", "a"), Triple("a", "r", "c")]
    assert list(exclusion.keep(facts)) == [Triple("a", "r", "c")]
    assert exclusion.num_left_out == 2
    with pytest.raises(LeakageError, match=r"2 facts join an excluded pair .* a r b; b s a.*leave them out"):
        exclusion.refuse_any(tmp_path / "kg.tsv")


def test_a_graph_without_such_facts_is_not_refused(tmp_path):
    exclusion = Exclusion({("a", "b")})
    assert len(list(exclusion.keep([Triple("a", "r", "c")]))) == 1
    exclusion.refuse_any(tmp_path / "kg.tsv")


def test_standard_input_cannot_be_excluded():
    with pytest.raises(BadInputError, match="standard input"):
        read_pairs([Path("-")], 0.0)
