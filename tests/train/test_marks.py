import numpy as np
import pytest

from sayso.metrics.rationale import IRRELEVANT, NEITHER, RATIONALE
from sayso.store.folds import PairFolds, withhold
from sayso.store.marks import SentenceMarks
from sayso.train.marks import MarkedBags, marks_without
from toy_table import HEAD, TAIL, Pair, table_of

# Bags have sentences 0 1 2 | 3 | 4 5 6 7; (sentence, relation) and what the marks on it come to.
SIZES = [3, 1, 4]
MARKS = {
    (5, 1): RATIONALE,
    (4, 1): IRRELEVANT,
    (4, 0): RATIONALE,
    (6, 1): IRRELEVANT,
    (7, 1): RATIONALE,
    (5, 0): NEITHER,
    (0, 1): RATIONALE,
    (2, 0): IRRELEVANT,
    (3, 0): NEITHER,
}


def marked_bags(marks: dict[tuple[int, int], int] = MARKS) -> MarkedBags:
    table = table_of(*(Pair(bag, bag, (), ((HEAD, TAIL),) * size) for bag, size in enumerate(SIZES)))
    return MarkedBags(table, SentenceMarks(by_sentence=marks, report={}))


def test_bags_that_nobody_is_sure_about_are_left_out() -> None:
    assert marked_bags().all_bags.tolist() == [0, 1]  # of bags 0 and 2
    assert marked_bags({(3, 0): NEITHER}).all_bags.tolist() == []


def test_only_marks_of_both_kinds_on_one_fact_make_a_ranking() -> None:
    assert marked_bags().ranked_bags.tolist() == [1]
    assert marked_bags({(0, 1): RATIONALE, (1, 0): IRRELEVANT, (4, 1): IRRELEVANT}).ranked_bags.tolist() == []


def test_each_mark_names_its_sentence_relation_and_label() -> None:
    both = np.arange(2)
    rows, marks = marked_bags().take(both, both)
    assert rows.tolist() == [0, 2, 4, 5, 6, 7]
    found = zip(rows[marks.sentence_K].tolist(), marks.relation_K.tolist(), marks.target_K.tolist(), strict=True)
    codes = {1.0: RATIONALE, 0.0: IRRELEVANT}
    assert {(sentence, relation): codes[target] for sentence, relation, target in found} == {
        key: code for key, code in MARKS.items() if code != NEITHER
    }


def test_pairs_are_of_one_fact_and_their_weights_make_a_mean_over_facts() -> None:
    both = np.arange(2)
    rows, marks = marked_bags({**MARKS, (1, 1): IRRELEVANT}).take(both, both)
    sentences = rows[marks.sentence_K]
    pairs = {
        (int(sentences[r]), int(sentences[i])): weight
        for r, i, weight in zip(
            marks.rationale_P.tolist(), marks.irrelevant_P.tolist(), marks.weight_P.tolist(), strict=True
        )
    }
    # One pair in the first bag, four in the other: each of the two facts has half of the weight.
    assert pairs == pytest.approx({(0, 1): 1 / 2} | {(r, i): 1 / 8 for r in (5, 7) for i in (4, 6)})


def test_the_weights_of_a_shard_are_those_of_the_whole_batch() -> None:
    marked = marked_bags({**MARKS, (1, 1): IRRELEVANT})
    both = np.arange(2)
    _, whole = marked.take(both, both)
    shards = [marked.take(both, both[place : place + 1])[1] for place in range(2)]
    assert sum(len(shard.weight_K) for shard in shards) == len(whole.weight_K)
    assert sum(float(shard.weight_K.sum()) for shard in shards) == pytest.approx(1.0)
    assert [float(shard.weight_P.sum()) for shard in shards] == pytest.approx([1 / 2, 1 / 2])


def test_marks_on_withheld_facts_are_not_taught_and_the_others_follow_their_sentences() -> None:
    relations = [(0,), (1,), (0, 1)]
    before = table_of(*(Pair(bag, bag, relations[bag], ((HEAD, TAIL),) * size) for bag, size in enumerate(SIZES)))
    folds = PairFolds(fold_B=np.array([1, 2, 3]), stays_B=np.array([False, True, True]))
    marks = SentenceMarks(by_sentence=MARKS, report={})
    # The first bag is gone, so that the sentences of the others move up by three.
    moved = {(sentence - 3, relation): code for (sentence, relation), code in MARKS.items() if sentence >= 3}
    assert marks_without(marks, before, withhold(before, folds, 1)).by_sentence == moved
    # The third stays as an NA pair, but what was marked is withheld.
    kept = {key: code for key, code in MARKS.items() if key[0] < 4}
    assert marks_without(marks, before, withhold(before, folds, 3)).by_sentence == kept
