"""Plan a corpus: its bags, their pairs and sizes, and which of them contain a rationale."""

import random
from bisect import bisect
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from sayso.invent.names import Coiner, Entity, Namer, name_entities
from sayso.invent.pairs import EntityPair, Shortcut, UnrelatedPairs, choose_positive, related_pairs
from sayso.invent.relations import strongest
from sayso.invent.settings import InventSettings
from sayso.invent.world import World, build_world
from sayso.memory import refuse_beyond_memory
from sayso.seeding import sub_seed

# In FB-NYT, 65 % of bags have one sentence, 14 % two, 7 % three; size n is about as frequent as n to this power.
_SIZE_EXPONENT = -2.15
_LARGEST_BAG = 500
# Measured with 60,000 sentences and 60,000 documents.
_BYTES_A_SENTENCE, _BYTES_A_DOCUMENT = 700, 5_500


class BagPlan(NamedTuple):
    """A bag to write; `guest` is a pair that shares its first sentence."""

    pair: EntityPair
    size: int
    is_supported: bool = False
    guest: EntityPair | None = None


class PartPlan(NamedTuple):
    """The bags of training or test, and the share of irrelevant sentences among those not needed to state a label."""

    bags: list[BagPlan]
    irrelevant_rest: float


class CorpusPlan(NamedTuple):
    """Everything about a corpus except its sentences."""

    world: World
    entities: list[Entity]
    bystanders: dict[str, list[str]]
    train: PartPlan
    test: PartPlan
    named_after: dict[int, str]


def make_plan(settings: InventSettings) -> CorpusPlan:
    """Plan a corpus with these settings; raise `UserError` if it would not fit into memory."""
    num = settings.train_sentences + settings.test_sentences
    what = f"{num:,} sentences and {settings.documents:,} documents need"
    refuse_beyond_memory(_BYTES_A_SENTENCE * num + _BYTES_A_DOCUMENT * settings.documents, what, "invent fewer")
    train_counts, test_counts = _counts(settings, "train"), _counts(settings, "test")
    num_train, num_test = len(train_counts.positive), len(test_counts.positive)
    spread = 1 + 3 * settings.name_shortcut  # most entities are in training with only one of their relations
    # A corpus of mostly NA needs a world large enough for that many unrelated pairs.
    num_strangers = len(train_counts.na) + len(test_counts.na)
    world = build_world(max(num_train + num_test, num_strangers // 4), rng_of(settings, "world"), spread)
    pairs = related_pairs(world)
    test_share = num_test / (num_train + num_test)
    shortcut = Shortcut(world, pairs, settings.name_shortcut, test_share, rng_of(settings, "shortcut"))
    train, test = choose_positive(pairs, shortcut, num_train, num_test, rng_of(settings, "pairs"))
    strangers = UnrelatedPairs(world, rng_of(settings, "strangers"))
    test_part = _part(settings, "test", test, test_counts, strangers)
    train_part = _part(settings, "train", train, train_counts, strangers)
    named_after = shortcut.named_after(train, test)
    namer = Namer(len(world.kinds), Coiner.of_corpus(rng_of(settings, "coin")), rng_of(settings, "names"))
    bystanders = namer.bystanders()
    entities = name_entities(world, named_after, namer, settings.untyped_share, rng_of(settings, "types"))
    return CorpusPlan(world, entities, bystanders, train_part, test_part, named_after)


class _Counts(NamedTuple):
    positive: list[int]
    na: list[int]
    num_guests: int


def _counts(settings: InventSettings, part: str) -> _Counts:
    """Return the sizes of the part's bags, which add up exactly to its number of sentences."""
    rng = rng_of(settings, f"{part} sizes")
    num_sentences: int = getattr(settings, f"{part}_sentences")
    num_na = min(num_sentences - 1, round(settings.na_share * num_sentences))
    positive = bag_sizes(num_sentences - num_na, rng)
    num_guests = min(len(positive), round(settings.shared_share * num_na))
    return _Counts(positive, bag_sizes(num_na - num_guests, rng), num_guests)


def bag_sizes(num_sentences: int, rng: random.Random) -> list[int]:
    """Draw bag sizes that add up to `num_sentences`: two thirds are 1, with a long tail.

    No bag gets more than a fiftieth of the sentences; otherwise a small corpus could be a single bag.
    """
    largest = min(_LARGEST_BAG, max(5, num_sentences // 50))
    mass = list(accumulate(size**_SIZE_EXPONENT for size in range(1, largest + 1)))
    sizes, left = [], num_sentences
    while left:
        size = min(left, 1 + min(bisect(mass, rng.random() * mass[-1]), largest - 1))
        sizes.append(size)
        left -= size
    return sizes


def _part(
    settings: InventSettings, part: str, positive: list[EntityPair], counts: _Counts, strangers: UnrelatedPairs
) -> PartPlan:
    rng = rng_of(settings, f"{part} bags")
    guests: list[EntityPair | None] = [strangers.guest(pair.head) for pair in positive[: counts.num_guests]]
    guest_of = dict(zip(positive, guests, strict=False))
    unsupported_share = min(settings.unsupported_share, settings.irrelevant_share)
    bags = [
        BagPlan(pair, size, rng.random() >= unsupported_share, guest_of.get(pair))
        for pair, size in _matched(positive, counts.positive, rng)
    ]
    irrelevant_rest = _irrelevant_rest(bags, settings.irrelevant_share)
    bags += [
        BagPlan(pair, size) for pair, size in zip(strangers.pairs(positive, len(counts.na)), counts.na, strict=True)
    ]
    rng.shuffle(bags)
    return PartPlan(bags, irrelevant_rest)


def _matched(pairs: Sequence[EntityPair], sizes: list[int], rng: random.Random) -> list[tuple[EntityPair, int]]:
    """Assign a size to each pair; pairs with several relations to state get sizes above 1 as long as there are any."""
    demanding = [pair for pair in pairs if len(strongest(pair.relations)) > 1]
    others = [pair for pair in pairs if len(strongest(pair.relations)) == 1]
    roomy = [size for size in sizes if size > 1]
    chosen, left = roomy[: len(demanding)], roomy[len(demanding) :]
    left += [size for size in sizes if size == 1]
    rng.shuffle(left)
    return list(zip(demanding + others, chosen + left, strict=True))


def _irrelevant_rest(bags: Sequence[BagPlan], irrelevant_share: float) -> float:
    """Return the share of irrelevant sentences, among those not needed to state a label, for `irrelevant_share`."""
    total = sum(bag.size for bag in bags)
    unsupported = sum(bag.size for bag in bags if not bag.is_supported)
    needed = sum(min(bag.size, len(strongest(bag.pair.relations))) for bag in bags if bag.is_supported)
    rest = total - unsupported - needed
    return min(1.0, max(0.0, (irrelevant_share * total - unsupported) / rest)) if rest else 0.0


def rng_of(settings: InventSettings, name: str) -> random.Random:
    """Return the random generator for one step, seeded from the corpus seed."""
    return random.Random(sub_seed(settings.seed, f"invent/{name}"))
