import pytest

from sayso.records import Bag, Sentence, Source
from toy import make_sentence


def test_a_bag_of_plain_texts_names_the_pair_wherever_it_stands() -> None:
    bag = Bag.from_sentences(
        ["Windhoek, Namibia's capital.", "In Windhoek people of NAMIBIA met."], head="Namibia", tail="Windhoek"
    )
    assert (bag.head_id, bag.tail_id) == ("Namibia", "Windhoek")
    assert [sentence.head.spans for sentence in bag.sentences] == [((2, 3),), ((4, 5),)]
    assert [sentence.tail.spans for sentence in bag.sentences] == [((0, 1),), ((1, 2),)]


def test_given_ids_and_relations_are_the_bags() -> None:
    bag = Bag.from_sentences(["a of b"], "a", "b", head_id="m.1", tail_id="m.2", relations=["r"])
    assert (bag.head_id, bag.tail_id, bag.relations) == ("m.1", "m.2", {"r"})
    assert bag.sentences[0].head.name == "a"


def test_a_bag_of_records_has_their_labels_and_those_given() -> None:
    bag = Bag.from_sentences([make_sentence("h of t", relations=("r",)), make_sentence("h at t")], relations=("s",))
    assert bag.relations == {"r", "s"}


def test_a_sentence_is_written_as_its_document_has_it_and_keeps_its_text() -> None:
    sentence = make_sentence("h ( it 's t )")._replace(source=Source("d", 0, 11, glued=(2, 3, 5), curly=(3,)))
    assert (sentence.written, sentence.text) == ("h (it’s t)", "h ( it 's t )")
    assert sentence._replace(source=Source("d", 0, 11)).written == sentence.text
    assert sentence._replace(source=None).written == sentence.text


@pytest.mark.parametrize("ids", [{}, {"head_id": "Q1\tP36\nQ2"}, {"tail_id": "m.\x1b[2J"}])
def test_a_control_character_in_a_name_or_an_id_is_refused(ids: dict[str, str]) -> None:
    head = "Windhoek" if ids else "Wind\x07hoek"
    with pytest.raises(ValueError, match="ids and names must not contain control characters"):
        Sentence.from_text(f"{head} lies in Namibia .", head, "Namibia", **ids)


def test_a_name_inside_the_longer_name_of_the_other_does_not_count() -> None:
    sentence = Sentence.from_text("New York City is in New York.", head="New York City", tail="New York")
    assert (sentence.head.spans, sentence.tail.spans) == (((0, 3),), ((5, 7),))


@pytest.mark.parametrize(
    ("texts", "names", "message"),
    [
        (["a of b", "a only"], {"head": "a", "tail": "b"}, "sentence 2: 'b' does not appear in 'a only'"),
        (["a of b"], {"head": "a", "tail": "a"}, "sentence 1: 'a' and 'a' match the same words"),
        (["a of b"], {"head": "a"}, "sentences given as strings need the entity names"),
        ([], {"head": "a", "tail": "b"}, "must have the same pair, got 0 pairs"),
        ([make_sentence("h t"), make_sentence("a b", "a", "b")], {}, "must have the same pair, got 2 pairs"),
    ],
)
def test_an_invalid_bag_is_an_error_that_names_the_sentence(texts, names, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Bag.from_sentences(texts, **names)
