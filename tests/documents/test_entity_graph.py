from sayso.documents.entity_graph import EntityGraph

TYPES = {
    **{key: ["/location/city"] for key in ("florence", "huntsville", "rome")},
    **{key: ["/location", "/location/state"] for key in ("alabama", "lazio")},
    **{key: ["/location/country"] for key in ("italy", "us")},
    "ana": ["/person"],
}
LIES = {
    ("florence", "italy"): ["in"],
    ("huntsville", "alabama"): ["in"],
    ("rome", "lazio"): ["in"],
    ("lazio", "italy"): ["in"],
    ("alabama", "us"): ["in"],
}


def test_places_lie_in_what_the_facts_say_over_several_steps() -> None:
    graph = EntityGraph(LIES, TYPES)
    assert graph.around("rome") == {"lazio", "italy"}
    assert graph.lies_in("rome", "italy") is True
    assert graph.lies_in("florence", "alabama") is False, "it is in Italy, and Alabama in another country"
    assert graph.lies_in("florence", "us") is False
    assert graph.lies_in("huntsville", "us") is True


def test_a_knowledge_base_that_lacks_facts_leaves_it_open() -> None:
    facts = {pair: relations for pair, relations in LIES.items() if pair != ("alabama", "us")}
    graph = EntityGraph(facts, TYPES)
    assert graph.lies_in("huntsville", "us") is None, "a missing fact may be the new one"
    assert graph.lies_in("florence", "rome") is None, "a list of cities"


def test_the_direction_of_a_relation_does_not_matter() -> None:
    graph = EntityGraph({(tail, head): ["contains"] for head, tail in LIES}, TYPES)
    assert graph.around("rome") == {"lazio", "italy"}


def test_relations_of_people_or_in_both_directions_contain_nothing() -> None:
    borders = {("italy", "us"): ["borders"], ("us", "italy"): ["borders"]}
    graph = EntityGraph({**borders, ("ana", "rome"): ["born"]}, TYPES)
    assert not graph.around("italy")
    assert not graph.around("ana")


def test_facts_relate_more_than_a_third_entity_and_that_more_than_nothing() -> None:
    graph = EntityGraph({**LIES, ("ana", "rome"): ["born", "lived"], ("ana", "us"): ["born"]}, TYPES)
    assert graph.relatedness("rome", "ana") > graph.relatedness("us", "ana") > graph.relatedness("alabama", "ana") > 0
    assert graph.relatedness("rome", "italy") > graph.relatedness("rome", "florence"), "over several steps"
    assert graph.relatedness("ana", "florence") == 0


def test_an_entity_related_to_many_says_less() -> None:
    graph = EntityGraph(
        {("ana", "us"): ["born"], ("ana", "rome"): ["born"], **{("us", f"{n}"): ["x"] for n in range(50)}}, {}
    )
    assert graph.relatedness("ana", "rome") > graph.relatedness("ana", "us")


def test_types_tell_people_from_places() -> None:
    graph = EntityGraph({}, {**TYPES, "acme": ["/organization/company"], "x": []})
    assert [graph.kind(each) for each in ("ana", "rome", "acme", "x", "y")] == [
        "person",
        "place",
        "organization",
        "",
        "",
    ]
