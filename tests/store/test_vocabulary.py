import numpy as np

from sayso.store.vocabulary import Vocabulary, count_mentions, finest_types
from toy import group_by_pair, make_sentence


def named(result) -> list[str]:
    return [result.names[number] for number in result.type_E]


def test_the_finest_type_wins() -> None:
    types = {"e": ["/location", "/location/city"]}
    assert named(finest_types(["e"], types, np.array([1]))) == ["/location/city"]


def test_of_equally_fine_types_the_most_frequent_in_training_wins() -> None:
    types = {"e": ["/person/actor", "/person/author"], "f": ["/person/author"]}
    assert named(finest_types(["e", "f"], types, np.array([1, 5]))) == ["/person/author"] * 2


def test_equally_fine_and_frequent_types_go_by_name() -> None:
    assert named(finest_types(["e"], {"e": ["/b", "/a"]}, np.array([3]))) == ["/a"]


def test_an_entity_without_type_is_other_and_counted() -> None:
    result = finest_types(["e", "f", "g"], {"e": [], "f": ["/x"]}, np.array([1, 1, 1]))
    assert named(result) == ["/other", "/x", "/other"]
    assert result.num_other == 2


def test_mentions_are_counted_once_a_sentence_as_head_or_tail() -> None:
    vocabulary = Vocabulary()
    table = group_by_pair([make_sentence("a b", "a", "b"), make_sentence("c b", "b", "c")], vocabulary).table
    assert dict(zip(vocabulary.entities, count_mentions(table, 3).tolist(), strict=True)) == {"a": 1, "b": 2, "c": 1}
