"""Directly supervised sentences in the blocks of KBP37: what a person would mark, one sentence at a time."""

import random
from collections.abc import Iterator, Sequence

from sayso.invent.choose import Pair
from sayso.invent.names import Entity
from sayso.invent.natural import capitalised
from sayso.invent.phrase import HEAD, TAIL, Draft, Phraser
from sayso.invent.relations import strongest
from sayso.invent.sample import Sampler

_NO_RELATION_SHARE = 0.3


def direct_blocks(
    number: int,
    pairs: Sequence[Pair],
    entities: Sequence[Entity],
    sampler: Sampler,
    phraser: Phraser,
    rng: random.Random,
) -> Iterator[str]:
    """Yield so many blocks about related pairs: numbered sentence, label, two empty lines.

    The last line end is left to the writer.
    """
    for index in range(number):
        pair = rng.choice(pairs)
        relation = "" if rng.random() < _NO_RELATION_SHARE else rng.choice(strongest(pair.relations))
        wording = sampler.stating(relation) if relation else sampler.neutral(pair.head, pair.tail)
        draft = phraser.sentence(wording)
        text, direction = _tagged(draft, {HEAD: entities[pair.head].name, TAIL: entities[pair.tail].name})
        label = f"{relation}{direction}" if relation else "no_relation"
        yield f'{index}\t" {text} "\n{label}\n\n'


def _tagged(draft: Draft, names: dict[str, str]) -> tuple[str, str]:
    """Return the sentence with the first mention of each tagged, e1 standing first, and the relation's direction."""
    order: list[str] = []
    words = []
    for token in capitalised(draft.tokens, names):
        if token in names and token not in order:
            order.append(token)
            words.append(f"<e{len(order)}> {names[token]} </e{len(order)}>")
        else:
            words.append(names.get(token, token))
    return " ".join(words), "(e1,e2)" if order[0] == HEAD else "(e2,e1)"
