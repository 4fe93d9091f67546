from sayso.extract.extraction import known_facts
from sayso.records import Relation, Triple
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


def test_a_fact_is_known_new_or_contradicts_where_only_one_object_can_be() -> None:
    def status(head: str, relation: str, tail: str) -> tuple[str, tuple[str, ...]]:
        compared = KNOWN.compare(make_extracted(head_id=head, relation=relation, tail_id=tail))
        return compared.status, compared.contradicts

    assert status("namibia", "capital", "windhoek") == ("known", ())
    assert status("namibia", "capital", "oslo") == ("contradicts", ("windhoek",))
    assert status("namibia", "contains", "oslo") == ("new", ())
    assert status("norway", "capital", "oslo") == ("new", ())


def test_facts_of_other_relations_are_passed_over() -> None:
    assert ("chile", "other") not in KNOWN.tails


def test_a_mark_at_the_beginning_and_space_around_columns_do_not_count() -> None:
    found = known_facts([Triple("\ufeffnamibia", " capital", "windhoek ")], RELATIONS)
    assert found.tails == {("namibia", "capital"): frozenset({"windhoek"})}
