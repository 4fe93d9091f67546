import pytest

from readers.shared_data import shared
from sayso.readers.base import BadLine, BadLineError, SentenceItem
from sayso.readers.files import read_lines
from sayso.readers.tagged import parse, read
from sayso.records import Sentence

TEXT = '" <e1> Ana Diaz </e1> sings for <e2> The Reds </e2> . "'


def blocks(*lines: str | BadLine) -> list[SentenceItem]:
    return list(read(enumerate(lines, 1)))


def test_the_first_entity_is_the_head() -> None:
    sentence = parse(TEXT, "per:member(e1,e2)")
    assert sentence.tokens == ("Ana", "Diaz", "sings", "for", "The", "Reds", ".")
    assert sentence.head == ("name:ana_diaz", "Ana Diaz", ((0, 2),))
    assert sentence.tail == ("name:the_reds", "The Reds", ((4, 6),))
    assert (sentence.relations, sentence.expresses) == (("per:member",), 1.0)


def test_the_other_direction_swaps_head_and_tail_and_keeps_the_name() -> None:
    there, back = parse(TEXT, "per:member(e1,e2)"), parse(TEXT, "per:member(e2,e1) ")
    assert (back.head, back.tail, back.relations) == (there.tail, there.head, there.relations)


@pytest.mark.parametrize("label", ["no_relation", "Other", "Other(e1,e2)"])
def test_none_of_the_relations_expresses_nothing(label: str) -> None:
    sentence = parse(TEXT, label)
    assert (sentence.relations, sentence.expresses) == ((), 0.0)


def test_tags_may_stick_to_words() -> None:
    sentence = parse('"A <e1>configuration</e1>s of <e2>antenna elements</e2>."', "Whole(e2,e1)")
    assert sentence.tokens == ("A", "configuration", "s", "of", "antenna", "elements", ".")
    assert sentence.head.name == "antenna elements"


def test_the_second_entity_may_come_first() -> None:
    assert parse("<e2> b </e2> and <e1> a </e1>", "r(e1,e2)").head.spans == ((2, 3),)


def test_a_lost_name_keeps_its_place() -> None:
    sentence = parse('" <e1> </e1> was bought by <e2> Acme </e2> "', "org:owner(e1,e2)")
    assert sentence.tokens[0] == "_"
    assert sentence.head == ("name:_", "_", ((0, 1),))


def test_a_block_has_the_number_of_its_sentence_and_comments_are_passed_over() -> None:
    items = blocks("1\t" + TEXT, "r(e1,e2)", "Comment: r(e1,e2)", "", "2\t" + TEXT, "Other", "")
    assert [number for number, _ in items] == [1, 5]
    assert all(isinstance(item, Sentence) for _, item in items)


def test_a_sentence_without_label_is_bad_and_the_next_is_read() -> None:
    items = blocks("1\t" + TEXT, "", "2\t" + TEXT, "r(e1,e2)", "3\t" + TEXT)
    assert [(number, isinstance(item, Sentence)) for number, item in items] == [(1, False), (3, True), (5, False)]


def test_a_label_without_sentence_is_bad() -> None:
    assert blocks("r(e1,e2)") == [(1, BadLine("neither a numbered sentence nor the label of one"))]


def test_a_line_that_cannot_be_read_spoils_one_block_only() -> None:
    bad = BadLine("byte 1 of the line is not UTF-8")
    items = blocks(bad, "r(e1,e2)", "", "2\t" + TEXT, bad, "3\t" + TEXT, "r(e1,e2)")
    assert [(number, isinstance(item, Sentence)) for number, item in items] == [(1, False), (5, False), (6, True)]


@pytest.mark.parametrize(
    ("text", "label", "reason"),
    [
        (TEXT, "per:member", "label 'per:member' does not have the form"),
        (TEXT, "per:member(e1,e1)", "does not have the form"),
        (TEXT, "(e1,e2)", "does not have the form"),
        ("<e1> a </e1> <e2> b", "r(e1,e2)", "</e2> is missing"),
        ("<e1> a </e1> <e1> b </e1>", "r(e1,e2)", "<e1> appears twice in the sentence"),
        ("</e1> a <e1> <e2> b </e2>", "r(e1,e2)", "in the wrong order"),
        ("<e1> a <e2> b </e1> c </e2>", "r(e1,e2)", "overlaps"),
        ("", "r(e1,e2)", "the sentence is empty"),
    ],
)
def test_the_error_says_what_is_wrong(text: str, label: str, reason: str) -> None:
    with pytest.raises(BadLineError, match=reason):
        parse(text, label)


@pytest.mark.parametrize(
    ("name", "num_sentences", "num_na"), [("train", 15_917, 1_545), ("dev", 1_724, 210), ("test", 3_405, 419)]
)
def test_kbp37_is_read_whole(name: str, num_sentences: int, num_na: int) -> None:
    items = [item for _, item in read(read_lines(shared(f"direct/kbp37_{name}.txt.gz")))]
    good = [item for item in items if isinstance(item, Sentence)]
    assert len(good) == len(items) == num_sentences
    assert sum(not sentence.relations for sentence in good) == num_na
