from hypothesis import given
from hypothesis import strategies as st

from sayso.documents.align import Aligner, pair_number

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
