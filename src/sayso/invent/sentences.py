"""Write the sentences of the planned bags: random words around wordings, with placeholders until entities are named."""

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from sayso.invent.names import WORDS, Entity
from sayso.invent.pairs import EntityPair
from sayso.invent.plan import BagPlan, PartPlan
from sayso.invent.relations import SCENE_OF_KINDS, Wording, Wordings, strongest
from sayso.records import Mention, Sentence, Span

HEAD, TAIL, THIRD = "\x01", "\x02", "\x03"
"""Placeholder tokens for the pair, and for a third entity mentioned in passing."""

_PLACEHOLDERS = {"head": HEAD, "tail": TAIL, "third": THIRD}
_SLOT = re.compile(r"\{(\w+)\}")

# With these shares a sentence has about 38 tokens, as in FB-NYT, and one in ten mentions an entity twice.
_LEAD_SHARE, _SECOND_TRAIL_SHARE, _ECHO_SHARE = 0.7, 0.55, 0.1

_ANYWHERE_SHARE = 0.15
"""Fraction of neutral sentences, which state nothing, that use a wording for any two entities."""


class Draft(NamedTuple):
    """The tokens of a sentence in natural case, with placeholders for the entities, and its wording."""

    tokens: list[str]
    wording: Wording


class Phraser:
    """Writes sentences around wordings."""

    def __init__(self, bystanders: Mapping[str, Sequence[str]], rng: random.Random) -> None:
        """`bystanders`: names for slots such as `person`, in natural case."""
        self._random = rng.random
        self._parts = cache(_SLOT.split)
        trails = WORDS["filler"]["trails"]
        # Two lists, so that a sentence never has the same ending twice.
        endings = {"trails": trails[::2], "last_trails": trails[1::2]}
        self._slots: dict[str, Sequence[str]] = {**WORDS["slots"], **bystanders, **WORDS["filler"], **endings}

    def sentence(self, wording: Wording, *, with_third: bool = False) -> Draft:
        """Return a sentence with the wording; `with_third` adds a placeholder for a third entity."""
        words = self._filled("{leads}") if self._random() < _LEAD_SHARE else []
        words += self._filled(wording.text)
        if with_third:
            words += self._filled("{asides}")
        else:
            words += self._filled("{echoes}" if self._random() < _ECHO_SHARE else "{trails}")
        if self._random() < _SECOND_TRAIL_SHARE:
            words += self._filled("{last_trails}")
        return Draft([*words, "."], wording)

    def plain(self) -> list[str]:
        """Return the tokens of a sentence that mentions no entity."""
        return [*self._filled("{plain}"), "."]

    def _filled(self, template: str) -> list[str]:
        """Return the words of a template, with its slots filled at random."""
        words: list[str] = []
        for number, part in enumerate(self._parts(template)):
            if number % 2 == 0:
                words += part.split()
            elif part in _PLACEHOLDERS:
                words.append(_PLACEHOLDERS[part])
            else:
                choices = self._slots[part]
                words += self._filled(choices[int(self._random() * len(choices))])
        return words


class MadeSentence(NamedTuple):
    """A corpus sentence and its wording, which determines what it states."""

    sentence: Sentence
    wording: Wording


class Sampler:
    """Writes the sentences of bags."""

    def __init__(self, entities: Sequence[Entity], wordings: Wordings, phraser: Phraser, rng: random.Random) -> None:
        self.entities, self.phraser = entities, phraser
        self._wordings, self._rng = wordings, rng

    def lines(self, part: PartPlan) -> Iterator[list[MadeSentence]]:
        """Yield the sentences of each bag; a guest, which shares a sentence, gets its own bag."""
        for bag, drafts in self.drafts(part):
            yield [self._sentence(draft, bag, bag.pair) for draft in drafts]
            if bag.guest:
                shared = drafts[0]._replace(wording=drafts[0].wording._replace(states=()))
                yield [self._sentence(shared, bag, bag.guest)]

    def drafts(self, part: PartPlan) -> Iterator[tuple[BagPlan, list[Draft]]]:
        """Yield each bag with drafts of its sentences; a guest is the third entity in the first one."""
        for bag in part.bags:
            yield bag, self._drafts(bag, self._bag_wordings(bag, part.irrelevant_rest))

    def neutral(self, head: int, tail: int) -> Wording:
        """Return a wording that mentions both entities and states nothing."""
        scene = SCENE_OF_KINDS.get((self.entities[head].kind, self.entities[tail].kind))
        if scene is None or self._rng.random() < _ANYWHERE_SHARE:
            scene = "anywhere"
        return self._rng.choice(self._wordings[scene])

    def stating(self, relation: str) -> Wording:
        """Return a wording that states the relation."""
        return self._rng.choice(self._wordings[relation])

    def _bag_wordings(self, bag: BagPlan, irrelevant_rest: float) -> list[Wording]:
        wordings: list[Wording] = []
        if bag.is_supported:
            wordings = [self.stating(relation) for relation in strongest(bag.pair.relations)][: bag.size]
        while len(wordings) < bag.size:
            is_free = bag.is_supported and self._rng.random() >= irrelevant_rest
            relation = self._rng.choice(bag.pair.relations) if is_free else None
            wordings.append(self.stating(relation) if relation else self.neutral(bag.pair.head, bag.pair.tail))
        self._rng.shuffle(wordings)
        return wordings

    def _drafts(self, bag: BagPlan, wordings: Sequence[Wording]) -> list[Draft]:
        drafts: dict[str, Draft] = {}
        for wording in wordings:
            with_third = bag.guest is not None and not drafts
            text = ""
            while not text or text in drafts:  # filler varies enough that one or two tries suffice
                draft = self.phraser.sentence(wording, with_third=with_third)
                text = " ".join(draft.tokens)
            drafts[text] = draft
        return list(drafts.values())

    def _sentence(self, draft: Draft, bag: BagPlan, pair: EntityPair) -> MadeSentence:
        """Return the draft in lower case; the names of the pair are single tokens, that of the third entity is not."""
        numbers = {HEAD: bag.pair.head, TAIL: bag.pair.tail} | ({THIRD: bag.guest.tail} if bag.guest else {})
        tokens: list[str] = []
        spans: dict[int, list[Span]] = {pair.head: [], pair.tail: []}
        for token in draft.tokens:
            if token not in numbers:
                tokens.append(token.lower())
            elif (number := numbers[token]) in spans:
                spans[number].append(Span(len(tokens), len(tokens) + 1))
                tokens.append(self.entities[number].token)
            else:
                tokens += self.entities[number].name.lower().split()
        head, tail = (Mention(self.entities[n].id, self.entities[n].token, tuple(spans[n])) for n in spans)
        return MadeSentence(Sentence(tuple(tokens), head, tail, pair.relations), draft.wording)


class PartTally:
    """Counts bags as they are written."""

    def __init__(self) -> None:
        self._sizes: Counter[int] = Counter()
        self._labels: Counter[int] = Counter()
        self._sentences: Counter[str] = Counter()

    def add(self, bag: Sequence[MadeSentence], num_unseen: int) -> None:
        """Count a bag in which `num_unseen` sentences have an unseen wording."""
        labels = set(bag[0].sentence.relations)
        self._sizes[len(bag)] += 1
        self._labels[len(labels)] += 1
        self._sentences["tokens"] += sum(len(made.sentence.tokens) for made in bag)
        self._sentences["unseen"] += num_unseen
        stated = [labels.intersection(made.wording.states) for made in bag]
        self._sentences["supported"] += len(set().union(*stated))
        self._sentences["irrelevant" if labels else "na"] += sum(not found for found in stated)

    def counts(self) -> dict[str, float]:
        """Return the counts so far.

        `irrelevant_share`: fraction of the sentences of positive bags that state none of the labels.
        `supported_share`: fraction of the facts (bag, label) that at least one sentence of the bag states.
        `unseen_wording_share`: fraction of the sentences with a wording that training does not use.
        """
        num, num_bags = self._sentences, self._sizes.total()
        num_sentences = sum(size * count for size, count in self._sizes.items())
        facts = sum(number * count for number, count in self._labels.items())
        return {
            "sentences": num_sentences,
            "bags": num_bags,
            "positive_bags": num_bags - self._labels[0],
            "multi_label_bags": num_bags - self._labels[0] - self._labels[1],
            "facts": facts,
            "na_sentences": num["na"],
            "single_sentence_share": _share(self._sizes[1], num_bags),
            "largest_bag": max(self._sizes, default=0),
            "mean_tokens": _share(num["tokens"], num_sentences),
            "irrelevant_share": _share(num["irrelevant"], num_sentences - num["na"]),
            "supported_share": _share(num["supported"], facts),
            "unseen_wording_share": _share(num["unseen"], num_sentences),
        }


def _share(part: float, whole: float) -> float:
    return round(part / whole, 4) if whole else 0.0
