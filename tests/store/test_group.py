import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sayso.records import Mention, Sentence, Source, Span, sentence_key
from sayso.store.collect import Collector
from sayso.store.group import group
from sayso.store.vocabulary import Numbering, Vocabulary
from toy import group_by_pair, make_sentence


def texts(grouped, vocabulary):
    words = list(vocabulary.words)
    return [" ".join(words[i] for i in grouped.table.tokens.row(n)) for n in range(grouped.table.num_sentences)]


def test_sentences_of_a_pair_come_together_in_order_of_first_appearance() -> None:
    vocabulary = Vocabulary()
    lines = [("a", "b", "a met b"), ("c", "d", "c met d"), ("a", "b", "b saw a")]
    grouped = group_by_pair([make_sentence(text, h, t) for h, t, text in lines], vocabulary)
    assert texts(grouped, vocabulary) == ["a met b", "b saw a", "c met d"]
    assert grouped.table.size_B.tolist() == [2, 1]


def test_a_pair_and_its_reverse_are_two_bags() -> None:
    grouped = group_by_pair([make_sentence("a b", "a", "b"), make_sentence("a b", "b", "a")], Vocabulary())
    assert grouped.table.num_bags == 2


def test_an_identical_sentence_stays_once_and_its_labels_are_united() -> None:
    vocabulary = Vocabulary(["r", "s"])
    lines = [make_sentence("h of t", relations=("s",)), make_sentence("h of t", relations=("r",))]
    grouped = group_by_pair(lines, vocabulary)
    assert grouped.table.num_sentences == 1
    assert grouped.num_repeated == 1
    assert grouped.table.relations.row(0).tolist() == [0, 1]


def test_na_is_the_empty_set_of_labels() -> None:
    grouped = group_by_pair([make_sentence("h of t"), make_sentence("a of b", "a", "b", ("r",))], Vocabulary())
    assert grouped.table.is_positive_B.tolist() == [False, True]


def test_no_sentences_make_no_bags() -> None:
    grouped = group_by_pair([], Vocabulary())
    assert (grouped.table.num_bags, grouped.table.num_sentences) == (0, 0)


def test_every_occurrence_and_the_place_in_the_document_are_kept() -> None:
    vocabulary = Vocabulary()
    sentence = make_sentence("h and t and h")._replace(source=Source("d1", 10, 23, (1, 4), (4,)))
    table = group_by_pair([sentence], vocabulary).table
    assert table.head_spans.row(0).tolist() == [0, 1, 4, 5]
    assert list(vocabulary.documents) == ["d1"]
    assert table.place_N2.tolist() == [[10, 23]]
    assert (table.glued.row(0).tolist(), table.curly.row(0).tolist()) == ([1, 4], [4])


def test_a_sentence_longer_than_the_window_keeps_how_all_of_it_is_written() -> None:
    sentence = make_sentence("x x x x h of t x")._replace(source=Source("d1", 0, 12, (1, 5, 7)))
    table = group_by_pair([sentence], Vocabulary(), max_tokens=3).table
    assert table.window_N2.tolist() == [[4, 7]]
    assert (len(table.tokens.row(0)), table.glued.row(0).tolist()) == (8, [1, 5, 7])


def test_a_sentence_whose_mentions_no_window_holds_is_counted_and_its_fact_remembered() -> None:
    sentences = [make_sentence("h x x x x x x x t", relations=("r",)), make_sentence("a of b", "a", "b", ("r",))]
    grouped = group_by_pair(sentences, Vocabulary(), max_tokens=5)
    assert (grouped.num_too_far_apart, grouped.num_facts_unread) == (1, 1)
    assert grouped.table.num_bags == 1


def test_a_fact_with_another_readable_sentence_is_not_unread() -> None:
    sentences = [make_sentence(text, relations=("r",)) for text in ("h x x x x x x x t", "h of t")]
    assert group_by_pair(sentences, Vocabulary(), max_tokens=5).num_facts_unread == 0


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.integers(0, 3), st.integers(0, 2)), max_size=30
    )
)
def test_grouping_equals_a_plain_dictionary(lines: list[tuple[str, str, int, int]]) -> None:
    sentences = [
        Sentence(
            (head, str(word), tail),
            Mention(head, head, (Span(0, 1),)),
            Mention(tail, tail, (Span(2, 3),)),
            (f"r{relation}",) if relation else (),
        )
        for head, tail, word, relation in lines
    ]
    plain: dict[tuple[str, str], tuple[dict[str, None], set[str]]] = {}
    for sentence in sentences:
        texts_of, labels = plain.setdefault(sentence.pair, ({}, set()))
        texts_of[sentence.text] = None
        labels.update(sentence.relations)
    vocabulary = Vocabulary()
    grouped = group_by_pair(sentences, vocabulary)
    names, entities = list(vocabulary.relations), list(vocabulary.entities)
    table, shown = grouped.table, texts(grouped, vocabulary)
    got = {
        (entities[table.head_B[b]], entities[table.tail_B[b]]): (
            shown[table.first_B1[b] : table.first_B1[b + 1]],
            {names[r] for r in table.relations.row(b)},
        )
        for b in range(table.num_bags)
    }
    assert got == {pair: (list(found), labels) for pair, (found, labels) in plain.items()}
    assert list(got) == list(plain)
    assert np.array_equal(np.bincount(table.bag_N, minlength=table.num_bags), table.size_B)


def collected_three_times_and_once():
    collector = Collector(Numbering(), Numbering(), {}, max_tokens=10)
    for sentence in [make_sentence("h of t")] * 3 + [make_sentence("a of b", "a", "b")]:
        collector.add(*sentence[:3])
    return collector.columns()


def test_each_sentence_of_a_pair_is_kept_once() -> None:
    collected = collected_three_times_and_once()
    bags = group(collected)
    assert bags.table.bag_N.tolist() == [0, 1]
    assert bags.first_B.tolist() == [0, 3]
    assert bags.order.tolist() == [0, 3]


def test_given_bags_stay_as_they_are() -> None:
    collected = collected_three_times_and_once()
    table = group(collected, np.array([0, 0, 1, 2])).table
    assert table.size_B.tolist() == [2, 1, 1]
    assert table.head_B.tolist() == [0, 0, 2]
    assert not table.is_positive_B.any()


def test_a_sentence_whose_mentions_no_window_holds_is_not_taken() -> None:
    collector = Collector(Numbering(), Numbering(), {}, max_tokens=3)
    assert not collector.add(*make_sentence("h x x x t")[:3])
    assert len(collector.columns().head_B) == 0


@given(st.lists(st.lists(st.sampled_from(["a", "b", "a_b", "_", "b_", "a b"]), max_size=4), min_size=2, max_size=12))
def test_two_sentences_have_one_key_exactly_if_they_read_the_same_without_joints(texts_of: list[list[str]]) -> None:
    sentences = [
        Sentence(("h", *words, "t"), Mention(f"h{n}", "h", (Span(0, 1),)), Mention("t", "t", (Span(0, 1),)))
        for n, words in enumerate(texts_of)
    ]
    keys = group_by_pair(sentences, Vocabulary()).key_N.tolist()
    texts = [sentence_key(sentence.text) for sentence in sentences]
    assert [keys.index(key) for key in keys] == [texts.index(text) for text in texts]


def test_a_sentence_has_the_same_hash_in_every_process() -> None:
    grouped = group_by_pair([make_sentence("h of t"), make_sentence("a_b of c", "a_b", "c")], Vocabulary())
    assert grouped.key_N.tolist() == [6244799124640365486, 12300658997849646539]
