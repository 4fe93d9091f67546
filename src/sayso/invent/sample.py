"""Bags to sentences, each with the truth about what it states."""

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sayso.invent.choose import Pair
from sayso.invent.names import Entity
from sayso.invent.phrase import HEAD, TAIL, THIRD, Draft, Phraser
from sayso.invent.plan import BagPlan, Part
from sayso.invent.relations import SCENE_OF_KINDS, strongest
from sayso.invent.wording import Wording, Wordings
from sayso.records import Mention, Sentence, Span

_ANYWHERE_SHARE = 0.15
"""Of the sentences that state nothing, those whose wording fits any two entities."""


class MadeSentence(NamedTuple):
    """A line of the corpus and the wording it was made from, which knows what it states."""

    sentence: Sentence
    wording: Wording


class Sampler:
    """Writes the sentences of bags."""

    def __init__(self, entities: Sequence[Entity], wordings: Wordings, phraser: Phraser, rng: random.Random) -> None:
        self._entities, self._wordings, self._phraser, self._rng = entities, wordings, phraser, rng

    def lines(self, part: Part) -> Iterator[list[MadeSentence]]:
        """Yield the sentences of each bag; a bag's guest, which shares a sentence, comes as a bag of its own."""
        for bag, drafts in self.drafts(part):
            yield [MadeSentence(self._sentence(draft, bag.pair, bag.guest), draft.wording) for draft in drafts]
            if bag.guest:
                yield [self._guest_line(drafts[0], bag.pair, bag.guest)]

    def drafts(self, part: Part) -> Iterator[tuple[BagPlan, list[Draft]]]:
        """Yield each bag with its sentences, not yet named; a guest is the third entity of the first of them."""
        for bag in part.bags:
            yield bag, self._drafts(bag, self._bag_wordings(bag, part.irrelevant_rest))

    def neutral(self, head: int, tail: int) -> Wording:
        """Return a wording that names the two and states nothing."""
        scene = SCENE_OF_KINDS.get((self._entities[head].kind, self._entities[tail].kind))
        if scene is None or self._rng.random() < _ANYWHERE_SHARE:
            return self._rng.choice(self._wordings.anywhere)
        return self._rng.choice(self._wordings.neutral[scene])

    def stating(self, relation: str) -> Wording:
        """Return a wording that states the relation."""
        return self._rng.choice(self._wordings.stating[relation])

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
            while not text or text in drafts:  # Filler varies enough for a new sentence in a try or two.
                draft = self._phraser.sentence(wording, with_third=with_third)
                text = " ".join(draft.tokens)
            drafts[text] = draft
        return list(drafts.values())

    def _sentence(self, draft: Draft, pair: Pair, guest: Pair | None) -> Sentence:
        head, tail = self._entities[pair.head], self._entities[pair.tail]
        third = self._entities[guest.tail] if guest else None
        tokens, spans = _named(draft, {HEAD: [head.token], TAIL: [tail.token], THIRD: _words(third)})
        return _line(tokens, (head, spans[HEAD]), (tail, spans[TAIL]), pair.relations)

    def _guest_line(self, draft: Draft, pair: Pair, guest: Pair) -> MadeSentence:
        """Return the same sentence as a line about the head and the third entity."""
        head, tail, third = self._entities[pair.head], self._entities[pair.tail], self._entities[guest.tail]
        tokens, spans = _named(draft, {HEAD: [head.token], TAIL: _words(tail), THIRD: [third.token]})
        wording = draft.wording._replace(states=())
        return MadeSentence(_line(tokens, (head, spans[HEAD]), (third, spans[THIRD]), ()), wording)


def _words(entity: Entity | None) -> list[str]:
    return entity.name.lower().split() if entity else []


def _named(draft: Draft, words: dict[str, list[str]]) -> tuple[list[str], dict[str, list[Span]]]:
    """Return the corpus's lower-case tokens with names in place of the marks, and where they stand."""
    tokens: list[str] = []
    spans: dict[str, list[Span]] = {mark: [] for mark in words}
    for token in draft.tokens:
        if token in words:
            spans[token].append(Span(len(tokens), len(tokens) + len(words[token])))
            tokens.extend(words[token])
        else:
            tokens.append(token.lower())
    return tokens, spans


def _line(
    tokens: list[str],
    head: tuple[Entity, list[Span]],
    tail: tuple[Entity, list[Span]],
    relations: tuple[str, ...],
) -> Sentence:
    head_mention, tail_mention = (Mention(entity.id, entity.token, tuple(spans)) for entity, spans in (head, tail))
    return Sentence(tuple(tokens), head_mention, tail_mention, relations)
