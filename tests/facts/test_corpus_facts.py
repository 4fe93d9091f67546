import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sayso.facts.corpus_facts import CorpusFacts, FactCollector

PROBABILITIES = st.lists(st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75]), min_size=2, max_size=2), max_size=12)


def judged(rows: list[tuple[int, list[float]]]) -> tuple[np.ndarray, ...]:
    """Return bags given by line and probabilities; the head's number is the line, the size one more."""
    line_B = np.array([line for line, _ in rows], np.int64)
    probability_BR = np.array([row for _, row in rows], np.float32).reshape(-1, 2)
    return probability_BR, line_B, line_B + 100, line_B, line_B + 1


@given(PROBABILITIES, st.sampled_from([0.0, 0.5, 0.6]), st.none() | st.integers(1, 5), st.randoms())
def test_facts_come_most_probable_first_then_in_the_order_of_the_corpus(
    probabilities: list[list[float]], threshold: float, top: int | None, random
) -> None:
    bags = list(enumerate(probabilities))
    expected = [
        (probability, line, relation)
        for line, row in bags
        for relation, probability in enumerate(row)
        if probability >= threshold
    ]
    expected.sort(key=lambda fact: (-fact[0], *fact[1:]))
    random.shuffle(bags)
    finder = FactCollector(threshold, top)
    for first in range(0, len(bags), 3):
        finder.add(*judged(bags[first : first + 3]))
    found = [(row["probability"], row["line"], row["relation"]) for row in finder.sorted()]
    assert found == expected[:top]
    assert finder.num_pairs == len(bags)
    highest = max((value for row in probabilities for value in row), default=math.nan)
    assert finder.highest == highest or (math.isnan(highest) and math.isnan(finder.highest))


def test_a_fact_names_its_pair_and_relation() -> None:
    finder = FactCollector(0.5, None)
    finder.add(np.array([[0.25, 0.75]], np.float32), *(np.array([n]) for n in (1, 0, 7, 3)))
    facts = CorpusFacts(
        found_F=finder.sorted(),
        relations=("born", "died"),
        entity_ids=("q1", "q2"),
        names=("Oslo", "Ada"),
        num_pairs=1,
        num_repeated=0,
        num_too_far_apart=0,
        num_cut=0,
        highest=finder.highest,
    )
    assert len(facts) == 1
    (fact,) = facts
    assert (fact.head_id, fact.head_name, fact.relation) == ("q2", "Ada", "died")
    assert (fact.tail_id, fact.tail_name, fact.probability, fact.num_sentences) == ("q1", "Oslo", 0.75, 3)
