import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.documents.knowledge import Aligner, Knowledge, names_of_ids, read_exceptions, read_knowledge, read_names
from sayso.errors import BadInputError
from sayso.seeding import pair_number


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


def test_exceptions_rule_out_an_entity_between_two_offsets(tmp_path: Path) -> None:
    path = tmp_path / "exceptions.tsv"
    path.write_text("doc\t10\t20\ta\ndoc\t15\t40\tb\n")
    exceptions = read_exceptions(path)
    assert exceptions.allowed("doc", 10, 12, ("a", "b")) == ("b",)
    assert exceptions.allowed("doc", 15, 20, ("a", "b")) == ()
    assert exceptions.allowed("doc", 9, 12, ("a", "b")) == ("a", "b")
    assert exceptions.allowed("other", 10, 12, ("a",)) == ("a",)
    for line, reason in (("doc\t1\ta", "expected 4 columns"), ("doc\t9\t9\ta", "not the offsets of a span")):
        path.write_text(f"doc\t10\t20\ta\n{line}\n")
        with pytest.raises(BadInputError, match=rf"exceptions\.tsv:2: .*{reason}"):
            read_exceptions(path)


def test_what_is_odd_is_counted_and_named(tmp_path: Path) -> None:
    facts = "a\t/x\tb\na\t/x\tb\na\t/x\ta\na\tNA\tb\na\t/q\tb\na\t/x\tnobody\n"
    knowledge = read(tmp_path, facts, "name\n/x\n")
    assert knowledge.oddities.counts == {
        "repeated": 1,
        "between an entity and itself, left out": 1,
        "with an NA relation, left out": 1,
        "with a relation that is not in the inventory, left out": 1,
        "with an entity that has no name": 1,
    }
    assert knowledge.oddities.shown["with an entity that has no name"] == ["a /x nobody"]
    assert set(knowledge.facts) == {("a", "b"), ("a", "nobody")}


def test_two_objects_of_a_functional_relation_are_counted_and_stay(tmp_path: Path) -> None:
    facts = "a\t/x\tb\na\t/x\tc\nb\t/x\tc\na\t/y\tb\na\t/y\tc\n"
    knowledge = read(tmp_path, facts, "name\tfunctional\n/x\ttrue\n/y\tfalse\n")
    kind = "with several objects in a functional relation"
    assert knowledge.oddities.counts == {kind: 1}
    assert knowledge.oddities.shown == {kind: ["a /x: b, c"]}
    assert knowledge.num_facts == 5


def test_ids_are_names_unless_most_are_codes() -> None:
    ids = ["Albert_Einstein", "Ulm", "Ulm", "Σμύρνη", "北京", "Дом_у", "U2", "1984"]
    assert names_of_ids(ids, Path("kb.tsv")) == {
        **{each: (each,) for each in ids},
        "Albert_Einstein": ("Albert Einstein",),
        "Дом_у": ("Дом у",),
    }
    for codes in (["Q42", "Q7"], ["/m/0abc", "m.07"], ["w.00230", "http://x.org/1"], ["Q1", "Q2", "Rome"]):
        with pytest.raises(
            BadInputError, match=r"kb.tsv: 2 of \d entity ids, such as .*, are not names: give the names"
        ):
            names_of_ids(codes, Path("kb.tsv"))


def test_a_relation_with_a_tab_is_a_line_with_too_many_columns(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"kb.tsv:2: expected 3 columns \(head, relation, tail\), got 4"):
        read(tmp_path, "a\t/x\tb\na\tpart\tof\tb\n")


def test_no_usable_fact_is_an_error_that_says_why(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"no usable facts; 1 are between an entity and itself"):
        read(tmp_path, "a\t/x\ta\n")


def test_lines_with_tabs_and_json_lines_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("\ufeffm.1\tAna  Diaz\tAna\t\nm.2\tRome\n\n")
    (tmp_path / "b").write_bytes(
        gzip.compress(b'{"id": "m.1", "name": "Ana Diaz", "aliases": ["Ana"]}\n{"id": "m.2", "name": "Rome"}\n')
    )
    for name in "ab":
        assert read_names(tmp_path / name) == {"m.1": ("Ana Diaz", "Ana"), "m.2": ("Rome",)}


def test_an_entity_with_several_lines_has_all_their_names_once(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("m.1\tAna\nm.2\tBo\nm.1\tAna\tA. Diaz\n")
    assert read_names(tmp_path / "x")["m.1"] == ("Ana", "A. Diaz")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("m.1\n", ":1: entity 'm.1' has no name"),
        ("m.1\tAna\n\tBo\n", ":2: the entity id is empty"),
        ('{"id": "m.1"}\n', ":1: 'name' is missing"),
        ('{"id": "m\\t1", "name": "Ana"}\n', ":1: the id or name 'm\\\\t1' contains the control character"),
        ("m.1\tAna\x1b[31m\n", ":1: the id or name 'Ana.*contains the control character"),
        ("\n", ": contains no names"),
        ("", ": contains no names"),
    ],
)
def test_a_fault_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x").write_text(text)
    with pytest.raises(BadInputError, match=f"x{message}"):
        read_names(tmp_path / "x")


FACTS = {("a", "b"): ("/x", "/y")}


def ids_of(aligner: Aligner, ids: str) -> list[str]:
    return [pair.head_id + pair.tail_id for pair in aligner.align(ids)[0]]


def test_every_ordered_pair_with_all_its_relations_and_the_reverse_is_another() -> None:
    pairs, num_left_out = Aligner(FACTS, 1.0, 13, 30).align("abc")
    assert num_left_out == 0
    assert {(p.head_id, p.tail_id): p.relations for p in pairs} == {
        ("a", "b"): ("/x", "/y"),
        **dict.fromkeys([("b", "a"), ("a", "c"), ("c", "a"), ("b", "c"), ("c", "b")], ()),
    }


def test_related_pairs_are_for_training_and_others_by_the_share() -> None:
    for share, expected in ((0.0, {True}), (1.0, {True, False})):
        pairs, _ = Aligner(FACTS, share, 13, 30).align("abc")
        assert {bool(pair.relations) for pair in pairs if pair.is_for_training} == expected
    pairs, _ = Aligner({}, 0.25, 13, 10**6).align([chr(0x4E00 + i) for i in range(60)])
    assert 0.2 < sum(pair.is_for_training for pair in pairs) / len(pairs) < 0.3


@given(st.permutations("abcdef"), st.integers(0, 5))
def test_a_pairs_place_does_not_depend_on_its_sentence(ids: list[str], seed: int) -> None:
    aligner = Aligner(FACTS, 0.5, seed, 30)
    pairs, _ = aligner.align(ids)
    for pair in pairs:
        alone, _ = aligner.align([pair.head_id, pair.tail_id])
        assert alone[0] == pair


def test_too_many_pairs_leave_related_ones_and_the_same_others_whatever_the_order() -> None:
    aligner = Aligner(FACTS, 1.0, 13, 4)
    assert aligner.align("abcd")[1] == 8
    kept = ids_of(aligner, "abcd")
    assert "ab" in kept
    assert sorted(ids_of(aligner, "dcba")) == sorted(kept)


def test_another_seed_draws_other_pairs() -> None:
    assert pair_number("a", "b", 1) != pair_number("a", "b", 2)
    assert pair_number("a", "b", 1) != pair_number("b", "a", 1)
