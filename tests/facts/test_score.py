from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from sklearn.metrics import average_precision_score

from sayso.errors import BadInputError
from sayso.facts.fact import ExtractedFact
from sayso.facts.score import Truth, read_decided, read_truth, score_extraction
from sayso.records import Triple
from toy_facts import make_extracted

WriteFacts = Callable[..., Path]


def fact(tail: str, probability: float, status: str = "new", relation: str = "capital") -> ExtractedFact:
    return make_extracted(head_id="h", relation=relation, tail_id=tail, probability=probability, status=status)


def truth(*tails: str, wrong: tuple[str, ...] | None = None, relation: str = "capital") -> Truth:
    def facts(names: tuple[str, ...]) -> frozenset[Triple]:
        return frozenset(Triple("h", relation, name) for name in names)

    return Truth(path=Path("truth"), right=facts(tails), wrong=None if wrong is None else facts(wrong))


@pytest.fixture
def write(tmp_path: Path) -> WriteFacts:
    def write_facts(*facts: ExtractedFact) -> Path:
        path = tmp_path / "facts.jsonl"
        path.write_text("".join(f"{each.to_json()}\n" for each in facts))
        return path

    return write_facts


def test_recall_counts_the_true_facts_that_were_not_extracted(write: WriteFacts) -> None:
    found = score_extraction(write(fact("a", 0.9), fact("b", 0.8)), truth("a", "c", "d", "e")).overall
    assert (found.num_facts, found.num_right, found.num_true) == (2, 1, 4)
    assert (found.precision, found.recall) == (0.5, 0.25)
    assert found.precision_interval == pytest.approx((0.0945, 0.9055), abs=1e-4)
    assert found.recall_interval is not None
    assert found.recall_interval.low < 0.25 < found.recall_interval.high


def test_average_precision_is_that_of_scikit_learn_with_the_facts_that_were_never_found_below_all_others(
    write: WriteFacts,
) -> None:
    probabilities, tails = [0.9, 0.8, 0.7, 0.6], "abcd"
    path = write(*(fact(tail, each) for tail, each in zip(tails, probabilities, strict=True)))
    found = score_extraction(path, truth("a", "c", "missed")).overall
    # scikit-learn counts a missed fact as the last step of the curve, which adds its precision there.
    last = 3 / 5 / 3
    whole = average_precision_score([1, 0, 1, 0, 1], [*probabilities, 0.0])
    assert found.average_precision == pytest.approx(whole - last)


def test_facts_that_the_knowledge_base_has_are_left_out_and_need_not_be_found(write: WriteFacts) -> None:
    path = write(fact("a", 0.9, "known"), fact("b", 0.8), fact("c", 0.7, "contradicts"), fact("d", 0.6, ""))
    found = score_extraction(path, truth("a", "b"))
    assert (found.overall.num_facts, found.overall.num_right, found.overall.num_true) == (3, 1, 1)
    assert found.num_scored == {"new": 1, "contradicts": 1, "not_compared": 1}
    assert found.num_left_out == {"known": 1}
    only_known = score_extraction(path, truth("a", "b"), ("known",))
    assert (only_known.overall.num_facts, only_known.overall.num_true) == (1, 2)


def test_only_decided_facts_are_counted_where_there_are_decisions(write: WriteFacts) -> None:
    path = write(fact("a", 0.9), fact("b", 0.8), fact("c", 0.7))
    found = score_extraction(path, truth("a", wrong=("b", "x")))
    assert (found.overall.num_facts, found.overall.num_right, found.num_undecided) == (2, 1, 1)
    with pytest.raises(BadInputError, match="truth: none of its 1 decisions is about a fact in"):
        score_extraction(path, truth(wrong=("x",)))


def test_the_most_probable_facts_are_counted_up_to_each_rank_and_a_tie_across_it_by_its_mean(write: WriteFacts) -> None:
    facts = [fact(f"right{number}", 0.9) for number in range(15)] + [
        fact(f"other{number}", 0.5) for number in range(10)
    ]
    right = truth(*(f"right{number}" for number in range(15)), "other0")
    top = {each.k: each for each in score_extraction(write(*facts), right).precision_at}
    assert list(top) == [20, 50, 100, 300]
    assert (top[20].num_facts, top[20].num_right) == (20, 15.5)
    assert (top[50].num_facts, top[50].num_right) == (25, 16)


def test_calibration_compares_the_share_of_right_facts_with_their_probability(write: WriteFacts) -> None:
    found = score_extraction(write(fact("a", 0.95), fact("b", 0.95), fact("c", 0.25)), truth("a"))
    assert [(each.num_facts, each.share_right) for each in found.reliability] == [(1, 0.0), (2, 0.5)]
    assert found.overall.expected_calibration_error == pytest.approx((0.25 + 2 * 0.45) / 3)
    assert found.overall.mean_probability == pytest.approx(2.15 / 3)


def test_a_relation_of_which_nothing_was_found_has_a_row(write: WriteFacts) -> None:
    right = truth("a")
    right = replace(right, right=right.right | {Triple("h", "contains", "b")})
    found = score_extraction(write(fact("a", 0.9)), right).per_relation
    assert (found["capital"].precision, found["capital"].recall) == (1.0, 1.0)
    assert (found["contains"].precision, found["contains"].recall, found["contains"].num_true) == (None, 0.0, 1)
    assert found["contains"].expected_calibration_error is None


def test_a_repeated_fact_and_an_extraction_of_known_facts_are_errors(write: WriteFacts) -> None:
    with pytest.raises(BadInputError, match="the fact h capital a is repeated"):
        score_extraction(write(fact("a", 0.9), fact("a", 0.8)), truth("a"))
    with pytest.raises(BadInputError, match=r"facts.jsonl: no facts to score \(1 known\)"):
        score_extraction(write(fact("a", 0.9, "known")), truth("a"))


def test_no_right_fact_gives_a_precision_of_zero_and_no_recall(write: WriteFacts) -> None:
    found = score_extraction(write(fact("a", 0.9)), truth(wrong=("a",)))
    assert (found.overall.precision, found.overall.recall, found.overall.average_precision) == (0.0, None, None)
    assert found.precision_at[0].num_right == 0


def test_true_facts_are_read_like_a_knowledge_base_and_of_two_decisions_the_last_counts(tmp_path: Path) -> None:
    table, lines = tmp_path / "truth.tsv", tmp_path / "decisions.jsonl"
    table.write_text("h\tcapital\ta\nh\tcapital\ta \n")
    assert read_truth(table) == replace(truth("a"), path=table)
    line = '{"head": "h", "relation": "capital", "tail": "a", "decision": "%s"}\n'
    lines.write_text(line % "accepted" + line % "rejected")
    assert read_decided(lines) == replace(truth(wrong=("a",)), path=lines)
