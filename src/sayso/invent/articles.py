"""Write short news articles in natural text, and directly supervised sentences."""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sayso.invent.names import Entity
from sayso.invent.pairs import EntityPair
from sayso.invent.relations import strongest
from sayso.invent.sentences import HEAD, TAIL, Draft, Sampler

_STATING_SHARE, _PLAIN_SHARE, _ALIAS_SHARE = 0.6, 0.3, 0.5
_NO_RELATION_SHARE = 0.3
_NO_SPACE_BEFORE = frozenset({",", ".", ";", "'s"})


class NaturalText(NamedTuple):
    """A sentence, and the character spans of the name for each placeholder."""

    text: str
    spans: dict[str, list[tuple[int, int]]]


def capitalised(tokens: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """Capitalise the first token unless it is a placeholder."""
    first, *rest = tokens
    return [first if first in names else first[0].upper() + first[1:], *rest]


def natural_text(tokens: Sequence[str], names: Mapping[str, str]) -> NaturalText:
    """Join the tokens into natural text, with names in place of placeholders.

    >>> natural_text(["\\x01", "'s", "house", "fell", "."], {"\\x01": "Dana Holt"}).text
    "Dana Holt's house fell."
    """
    text = ""
    spans: dict[str, list[tuple[int, int]]] = {placeholder: [] for placeholder in names}
    for token in capitalised(tokens, names):
        if text and token not in _NO_SPACE_BEFORE:
            text += " "
        if token in names:
            spans[token].append((len(text), len(text) + len(names[token])))
        text += names.get(token, token)
    return NaturalText(text, spans)


class Article:
    """An article that is written sentence by sentence."""

    def __init__(self, entities: Sequence[Entity], alias_share: float, rng: random.Random) -> None:
        """`alias_share`: fraction of names that are shortened after the full name has been given."""
        self._entities, self._alias_share, self._rng = entities, alias_share, rng
        self._named: set[int] = set()
        self.text = ""

    def add(
        self, tokens: Sequence[str], entities: Mapping[str, int] | None = None, gap: str = " ", pronoun: str = ""
    ) -> tuple[int, NaturalText]:
        """Append a sentence, with names in place of placeholders; return its start offset and its text.

        A pronoun takes the place of the head's name.
        """
        names = {placeholder: self._name(number) for placeholder, number in (entities or {}).items()}
        names |= {HEAD: pronoun.capitalize()} if pronoun else {}
        sentence = natural_text(tokens, names)
        self.text += gap if self.text else ""
        start = len(self.text)
        self.text += sentence.text
        return start, sentence

    def _name(self, number: int) -> str:
        entity = self._entities[number]
        if number in self._named and entity.aliases and self._rng.random() < self._alias_share:
            return entity.aliases[0]
        self._named.add(number)
        return entity.name


def write_article(
    document_id: str, pairs: Sequence[EntityPair], sampler: Sampler, rng: random.Random
) -> tuple[str, list[dict[str, Any]]]:
    """Return an article about related pairs, and a record for each of its sentences that mentions a pair."""
    entities, phraser = sampler.entities, sampler.phraser
    article, records = Article(entities, _ALIAS_SHARE, rng), []
    for pair in rng.choices(pairs, k=rng.randint(2, 4)):
        for _ in range(rng.randint(1, 2)):
            if rng.random() < _STATING_SHARE:
                wording = sampler.stating(rng.choice(strongest(pair.relations)))
            else:
                wording = sampler.neutral(pair.head, pair.tail)
            start, sentence = article.add(phraser.sentence(wording).tokens, {HEAD: pair.head, TAIL: pair.tail})
            records.append(
                {
                    "document": document_id,
                    "head": entities[pair.head].id,
                    "tail": entities[pair.tail].id,
                    "relations": list(wording.states),
                    "start": start,
                    "stop": start + len(sentence.text),
                    "head_spans": [[start + a, start + b] for a, b in sentence.spans[HEAD]],
                    "tail_spans": [[start + a, start + b] for a, b in sentence.spans[TAIL]],
                }
            )
        if rng.random() < _PLAIN_SHARE:
            article.add(phraser.plain())
    return article.text, records


def direct_blocks(number: int, pairs: Sequence[EntityPair], sampler: Sampler, rng: random.Random) -> Iterator[str]:
    """Yield `number` blocks in KBP37's format about related pairs: numbered sentence, label, two empty lines.

    The caller adds the final newline.
    """
    for index in range(number):
        pair = rng.choice(pairs)
        relation = "" if rng.random() < _NO_RELATION_SHARE else rng.choice(strongest(pair.relations))
        wording = sampler.stating(relation) if relation else sampler.neutral(pair.head, pair.tail)
        names = {HEAD: sampler.entities[pair.head].name, TAIL: sampler.entities[pair.tail].name}
        text, direction = _tagged(sampler.phraser.sentence(wording), names)
        label = f"{relation}{direction}" if relation else "no_relation"
        yield f'{index}\t" {text} "\n{label}\n\n'


def _tagged(draft: Draft, names: dict[str, str]) -> tuple[str, str]:
    """Return the sentence with the first mention of each entity tagged, e1 first, and the relation's direction."""
    order: list[str] = []
    words = []
    for token in capitalised(draft.tokens, names):
        if token in names and token not in order:
            order.append(token)
            words.append(f"<e{len(order)}> {names[token]} </e{len(order)}>")
        else:
            words.append(names.get(token, token))
    return " ".join(words), "(e1,e2)" if order[0] == HEAD else "(e2,e1)"
