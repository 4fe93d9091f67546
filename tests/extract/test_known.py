import numpy as np
import pytest

from sayso.extract.known import known_facts
from sayso.records import Relation, Triple
from sayso.train.held_out import KbPrior
from toy_facts import make_extracted

RELATIONS = [Relation("capital", is_functional=True), Relation("contains")]
KNOWN = known_facts(
    [
        Triple("namibia", "capital", "windhoek"),
        Triple("namibia", "contains", "walvis_bay"),
        Triple("chile", "other", "x"),
    ],
    RELATIONS,
)


def test_a_fact_is_known_or_new_or_contradicts_if_the_relation_is_functional() -> None:
    def status(head: str, relation: str, tail: str) -> tuple[str, tuple[str, ...]]:
        compared = KNOWN.compare(make_extracted(head_id=head, relation=relation, tail_id=tail))
        return compared.status, compared.contradicts

    assert status("namibia", "capital", "windhoek") == ("known", ())
    assert status("namibia", "capital", "oslo") == ("contradicts", ("windhoek",))
    assert status("namibia", "contains", "oslo") == ("new", ())
    assert status("norway", "capital", "oslo") == ("new", ())


def test_facts_of_other_relations_are_ignored() -> None:
    assert ("chile", "other") not in KNOWN.objects


def test_a_byte_order_mark_and_space_around_columns_are_ignored() -> None:
    found = known_facts([Triple("\ufeffnamibia", " capital", "windhoek ")], RELATIONS)
    assert found.objects == {("namibia", "capital"): frozenset({"windhoek"})}


KB = [Triple("namibia", "capital", "windhoek"), Triple("africa", "contains", "namibia")]
PRIOR = KbPrior(np.array([-2.0, -1.0]), np.array([-0.5, 0.0]))
WITH_PRIOR = known_facts(KB, RELATIONS, PRIOR, np.array([0.5, 0.5]))


def test_a_fact_is_less_probable_if_the_knowledge_base_has_another_object_or_subject() -> None:
    def probability(head: str, relation: str, tail: str) -> float:
        fact = make_extracted(head_id=head, relation=relation, tail_id=tail, probability=0.5)
        return WITH_PRIOR.compare(fact).probability

    def after(shift: float) -> float:
        return 1 / (1 + np.exp(-shift))

    assert probability("namibia", "capital", "oslo") == pytest.approx(after(-2.0))
    assert probability("norway", "capital", "windhoek") == pytest.approx(after(-0.5))
    assert probability("africa", "contains", "norway") == pytest.approx(after(-1.0))
    # Nothing is known of these, or the knowledge base has the fact itself.
    assert probability("norway", "capital", "oslo") == 0.5
    assert probability("namibia", "capital", "windhoek") == 0.5


def test_the_probability_of_the_text_alone_is_kept_where_it_differs() -> None:
    lowered, same = (
        WITH_PRIOR.compare(make_extracted(head_id=head, relation="capital", tail_id="oslo", probability=0.5))
        for head in ("namibia", "norway")
    )
    assert (lowered.text_probability, same.text_probability) == (0.5, None)


def test_facts_come_by_their_lowered_probability_and_those_below_the_threshold_are_left_out() -> None:
    facts = [
        make_extracted(head_id=head, relation="capital", tail_id=tail, probability=probability)
        for head, tail, probability in [
            ("namibia", "oslo", 0.95),
            ("norway", "oslo", 0.9),
            ("chile", "windhoek", 0.9),
            ("namibia", "lima", 0.8),
            ("namibia", "windhoek", 0.55),
        ]
    ]
    found = [(fact.head_id, fact.tail_id) for fact in WITH_PRIOR.compare_all(facts)]
    assert found == [("norway", "oslo"), ("chile", "windhoek"), ("namibia", "oslo"), ("namibia", "windhoek")]


def test_without_a_prior_the_facts_stay_as_they_are() -> None:
    facts = [make_extracted(head_id="namibia", relation="capital", tail_id="oslo", probability=0.3)]
    (found,) = known_facts(KB, RELATIONS, None, np.array([0.5, 0.5])).compare_all(facts)
    assert (found.probability, found.text_probability, found.status) == (0.3, None, "contradicts")
