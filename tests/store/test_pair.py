import numpy as np

from sayso.store.collect import Collector
from sayso.store.pair import bag_table, no_claims, pair_up
from sayso.store.vocabulary import Numbering
from toy import make_sentence


def collected_three_times_and_once():
    collector = Collector(Numbering(), Numbering(), {}, max_tokens=10)
    for sentence in [make_sentence("h of t")] * 3 + [make_sentence("a of b", "a", "b")]:
        collector.add(*sentence[:3])
    return collector.columns()


def test_each_sentence_of_a_pair_is_kept_once() -> None:
    collected = collected_three_times_and_once()
    pairing = pair_up(collected)
    assert pairing.bag_N.tolist() == [0, 0, 0, 1]
    assert pairing.order.tolist() == [0, 3]


def test_given_bags_stay_as_they_are() -> None:
    collected = collected_three_times_and_once()
    pairing = pair_up(collected, np.array([0, 0, 1, 2]))
    table = bag_table(collected, pairing, no_claims(pairing.num_bags, 4))
    assert table.size_B.tolist() == [2, 1, 1]
    assert table.head_B.tolist() == [0, 0, 2]
    assert not table.is_positive_B.any()


def test_a_sentence_whose_mentions_no_window_holds_is_not_taken() -> None:
    collector = Collector(Numbering(), Numbering(), {}, max_tokens=3)
    assert not collector.add(*make_sentence("h x x x t")[:3])
    assert len(collector.columns().head_N) == 0
