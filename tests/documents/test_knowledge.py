from pathlib import Path

import pytest

from sayso.documents.knowledge import Knowledge, read_knowledge
from sayso.errors import BadInputError


def read(tmp_path: Path, facts: str, inventory: str = "", names: str = "abc") -> Knowledge:
    (tmp_path / "kb.tsv").write_text(facts)
    (tmp_path / "relations.tsv").write_text(inventory)
    return read_knowledge(tmp_path / "kb.tsv", names, tmp_path / "relations.tsv" if inventory else None)


def test_all_relations_of_a_pair_in_the_inventorys_order_and_the_reverse_is_another_pair(tmp_path: Path) -> None:
    knowledge = read(tmp_path, "a\t/y\tb\na\t/x\tb\nb\t/x\ta\n", "name\tfunctional\n/y\ttrue\n/x\n")
    assert knowledge.facts == {("a", "b"): ("/y", "/x"), ("b", "a"): ("/x",)}
    assert knowledge.num_facts == 3
    assert knowledge.relations[0].is_functional


def test_without_an_inventory_the_relations_are_those_of_the_facts(tmp_path: Path) -> None:
    knowledge = read(tmp_path, "\ufeffa\t/z\tb\n b \t part of, 2 \tc\n")
    assert [relation.name for relation in knowledge.relations] == ["/z", "part of, 2"]
    assert list(knowledge.facts) == [("a", "b"), ("b", "c")]


def test_what_is_odd_is_counted_and_named(tmp_path: Path) -> None:
    facts = "a\t/x\tb\na\t/x\tb\na\t/x\ta\na\tNA\tb\na\t/q\tb\na\t/x\tnobody\n"
    knowledge = read(tmp_path, facts, "name\n/x\n")
    assert knowledge.oddities.counts == {
        "repeated": 1,
        "of an entity with itself, left out": 1,
        "with a relation that means none, left out": 1,
        "with a relation that the inventory has not, left out": 1,
        "with an entity that has no name": 1,
    }
    assert knowledge.oddities.shown["with an entity that has no name"] == ["a /x nobody"]
    assert set(knowledge.facts) == {("a", "b"), ("a", "nobody")}


def test_a_relation_with_a_tab_is_a_line_with_too_many_columns(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"kb.tsv:2: 4 columns where head, relation and tail are expected"):
        read(tmp_path, "a\t/x\tb\na\tpart\tof\tb\n")


def test_no_usable_fact_is_an_error_that_says_why(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"no usable fact in it; 1 are of an entity with itself"):
        read(tmp_path, "a\t/x\ta\n")
