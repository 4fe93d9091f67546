import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from sayso import memory
from sayso.errors import UserError
from sayso.invent.names import Coiner, Namer
from sayso.invent.pairs import marked_entity, unordered
from sayso.invent.plan import CorpusPlan, PartPlan, bag_sizes, make_plan
from sayso.invent.relations import name_class, strongest
from sayso.invent.settings import InventSettings
from sayso.seeding import sub_seed


@given(num_sentences=st.integers(0, 3000), seed=st.integers(0, 99))
def test_bag_sizes_add_up(num_sentences: int, seed: int) -> None:
    sizes = bag_sizes(num_sentences, random.Random(seed))
    assert sum(sizes) == num_sentences
    assert all(1 <= size <= max(5, num_sentences // 50) for size in sizes)


def test_a_corpus_that_does_not_fit_into_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: 1_000)
    with pytest.raises(UserError, match=r"[\d,]+ sentences and [\d,]+ documents need about .*: invent fewer"):
        make_plan(InventSettings())


def test_bag_sizes_fall_off_as_in_fb_nyt() -> None:
    sizes = bag_sizes(100_000, random.Random(1))
    count = Counter(sizes)
    assert 0.62 < count[1] / len(sizes) < 0.70
    assert 0.12 < count[2] / len(sizes) < 0.17
    assert max(sizes) > 100


@hypothesis_settings(max_examples=25)
@given(
    train=st.integers(10, 1500),
    test=st.integers(10, 600),
    na=st.sampled_from([0.0, 0.6, 0.99]),
    shortcut=st.sampled_from([0.0, 0.5, 1.0]),
    shared=st.sampled_from([0.0, 0.05, 1.0]),
)
def test_any_settings_make_a_plan_of_the_asked_size_without_leak(
    train: int, test: int, na: float, shortcut: float, shared: float
) -> None:
    plan = make_plan(
        InventSettings(
            train_sentences=train, test_sentences=test, na_share=na, name_shortcut=shortcut, shared_share=shared
        )
    )
    assert num_lines(plan.train) == train
    assert num_lines(plan.test) == test
    train_keys, test_keys = keys(plan.train), keys(plan.test)
    assert len(set(train_keys)) == len(train_keys)
    assert not set(train_keys) & set(test_keys)


def num_lines(part: PartPlan) -> int:
    return sum(bag.size + (bag.guest is not None) for bag in part.bags)


def keys(part: PartPlan) -> list[tuple[int, int]]:
    pairs = [bag.pair for bag in part.bags] + [bag.guest for bag in part.bags if bag.guest]
    return [unordered(pair.head, pair.tail) for pair in pairs]


@pytest.mark.parametrize("strength", [0.0, 1.0])
def test_names_go_with_relations_in_training_only_and_only_with_the_shortcut(strength: float) -> None:
    settings = InventSettings(train_sentences=4000, test_sentences=2000, name_shortcut=strength)
    plan = make_plan(settings)
    train, test = share_of_fitting_names(plan, plan.train), share_of_fitting_names(plan, plan.test)
    assert test < 0.3
    assert train > 0.75 if strength else train < 0.3


def share_of_fitting_names(plan: CorpusPlan, part: PartPlan) -> float:
    """Return how often a name contains a part that the pair's relation owns."""
    namer = namer_of(plan)
    fits = []
    for bag in part.bags:
        for relation in strongest(bag.pair.relations):
            entity = plan.entities[marked_entity(plan.world, bag.pair)]
            words = {form.replace("{}", "").split()[-1] for form in namer.family(name_class(entity.kind), relation)}
            fits.append(bool(words & set(entity.name.split())))
    return sum(fits) / len(fits)


def namer_of(plan: CorpusPlan) -> Namer:
    """Return a namer like the one that the plan was made with: the same seeds assign the same parts."""
    coin, names = (random.Random(sub_seed(13, f"invent/{name}")) for name in ("coin", "names"))
    return Namer(len(plan.world.kinds), Coiner.of_corpus(coin), names)


def test_entities_of_training_meet_other_relations_in_test() -> None:
    plan = make_plan(InventSettings(train_sentences=4000, test_sentences=2000, name_shortcut=1.0))
    misled = [
        bag
        for bag in plan.test.bags
        if bag.pair.relations
        and plan.named_after.get(marked_entity(plan.world, bag.pair), bag.pair.relations[0]) not in bag.pair.relations
    ]
    assert len(misled) > 30


def test_the_large_size_asks_for_exactly_as_many_sentences_as_fb_nyt() -> None:
    large = InventSettings.of_size("fbnyt")
    assert (large.train_sentences, large.test_sentences) == (522_611, 172_448)
