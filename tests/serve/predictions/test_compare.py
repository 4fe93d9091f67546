from sayso.serve.predictions.compare import compare
from sayso.serve.predictions.run import ExploredRun


def test_each_sentence_has_both_sides(explored: list[ExploredRun]) -> None:
    one, two = explored
    bag, relation = one.fact(0)["bag"], "capital"
    found = compare((one, two), bag, relation)
    assert found
    assert [side.run.name for side in found.sides] == ["one", "two"]
    for each in found.sentences:
        left, right = each.sides
        assert left
        assert right
        assert left.text == right.text
    assert [each.sides[0].place for each in found.sentences if each.sides[0]] == [1, 2, 3]


def test_sentences_are_ordered_by_the_mechanism_asked_for(explored: list[ExploredRun]) -> None:
    found = compare((explored[0], explored[1]), explored[0].fact(0)["bag"], "capital", "attention")
    assert found
    scores = [each.sides[0].bar("attention").score for each in found.sentences if each.sides[0]]
    assert scores == sorted(scores, reverse=True)


def test_a_run_without_the_fact_is_an_empty_side(explored: list[ExploredRun]) -> None:
    one, two = explored
    only_one = next(row for row in range(one.index.num_facts) if two.index.find(*_key(one, row)) is None)
    found = compare((two, one), *_key(one, only_one))
    assert found
    assert found.sides[0].fact is None
    assert found.sides[1].fact
    assert all(each.sides[0] is None and each.sides[1] for each in found.sentences)


def test_a_fact_that_no_run_has_is_none(explored: list[ExploredRun]) -> None:
    assert compare((explored[0], explored[1]), 10**6, "capital") is None


def _key(run: ExploredRun, row: int) -> tuple[int, str]:
    fact = run.fact(row)
    return fact["bag"], fact["relation"]
