from collections import Counter

from sayso.documents.gazetteer import NameMatch
from sayso.documents.link import Linker, count_type_pairs

HOLT = NameMatch(0, 4, ("person.1", "person.2"))
PARIS = NameMatch(10, 15, ("city", "hero"))
ANA = NameMatch(20, 23, ("ana",))
FINEST = {"city": "/location/city", "hero": "/person", "ana": "/person", "person.1": "/person", "person.2": "/person"}
TYPE_PAIRS = Counter({("/person", "/location/city"): 5, ("/location/city", "/location/city"): 9})


def test_skip_leaves_every_ambiguous_name_open() -> None:
    assert Linker("skip").link([HOLT, ANA], frozenset({"ana", "person.1"})) == [None, "ana"]


def test_document_chooses_the_entity_that_the_document_names_otherwise_too() -> None:
    linker = Linker("document")
    assert linker.link([HOLT, ANA], frozenset({"ana", "person.1"})) == ["person.1", "ana"]
    assert linker.link([HOLT], frozenset({"person.1", "person.2"})) == [None]
    assert linker.link([HOLT], frozenset()) == [None]


def test_types_chooses_the_entity_whose_type_goes_with_another_of_the_sentence() -> None:
    linker = Linker("types", FINEST, TYPE_PAIRS)
    assert linker.link([PARIS, ANA], frozenset()) == ["city", "ana"]
    assert linker.link([HOLT, ANA], frozenset()) == [None, "ana"], "both are people: nothing decides"
    assert linker.link([PARIS], frozenset()) == [None], "nothing to go by"


def test_type_pairs_are_counted_over_facts() -> None:
    facts = {("ana", "city"): ("/born", "/lived"), ("ana", "nobody"): ("/x",)}
    assert count_type_pairs(facts, FINEST) == {("/person", "/location/city"): 2}
