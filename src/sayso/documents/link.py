"""Link names to entities, and decide between entities with the same name if possible."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from sayso.documents.gazetteer import NameMatch
from sayso.documents.settings import AmbiguityPolicy
from sayso.documents.split import COMMON_WORDS

_WORD_BEFORE = re.compile(r"([^\W_]+) $")

TypePairs = Counter[tuple[str, str]]


def count_type_pairs(facts: Mapping[tuple[str, str], Sequence[str]], finest: Mapping[str, str]) -> TypePairs:
    """Return the number of facts for each pair of head type and tail type."""
    pairs: TypePairs = Counter()
    for (head_id, tail_id), relations in facts.items():
        if head_id in finest and tail_id in finest:
            pairs[finest[head_id], finest[tail_id]] += len(relations)
    return pairs


class Linker:
    """Chooses the entity of an ambiguous name according to the policy."""

    def __init__(
        self, policy: AmbiguityPolicy, finest: Mapping[str, str] | None = None, type_pairs: TypePairs | None = None
    ) -> None:
        self._policy, self._finest, self._type_pairs = policy, finest or {}, type_pairs or Counter()

    def link(self, sentence: Sequence[NameMatch], named_in_document: frozenset[str]) -> list[str | None]:
        """Return the entity of each name in a sentence, or None if it cannot be decided.

        `named_in_document`: entities that the document mentions by an unambiguous name.
        """
        clear = [found.entity_ids[0] for found in sentence if len(found.entity_ids) == 1]
        return [
            found.entity_ids[0]
            if len(found.entity_ids) == 1
            else self._choose(found.entity_ids, clear, named_in_document)
            for found in sentence
        ]

    def _choose(self, candidates: Sequence[str], clear: Sequence[str], named: frozenset[str]) -> str | None:
        if self._policy == "skip":
            return None
        if self._policy == "document":
            in_document = [candidate for candidate in candidates if candidate in named]
            return in_document[0] if len(in_document) == 1 else None
        fit = {candidate: self._fit(candidate, clear) for candidate in candidates}
        best = max(fit.values())
        chosen = [candidate for candidate in candidates if fit[candidate] == best]
        return chosen[0] if best and len(chosen) == 1 else None

    def _fit(self, candidate: str, others: Sequence[str]) -> int:
        """Return the number of facts between the candidate's type and the type of the best-fitting other entity."""
        mine = self._finest.get(candidate, "")
        types = [self._finest.get(other, "") for other in others if other != candidate]
        pairs = self._type_pairs
        return max((pairs[mine, theirs] + pairs[theirs, mine] for theirs in types), default=0)


def continues_a_name(text: str, start: int) -> bool:
    """Return whether a capitalised word comes directly before, so this may be the end of a longer name.

    >>> continues_a_name("Cy Holt left", 3), continues_a_name("In Holt", 3), continues_a_name("Mr. Holt", 4)
    (True, False, False)
    """
    found = _WORD_BEFORE.search(text, max(0, start - 40), start)
    return found is not None and found[1][0].isupper() and found[1].lower() not in COMMON_WORDS


def finest_type(types: Sequence[str]) -> str:
    """Return the type with the most levels (the first if several have), or an empty string if there are no types.

    >>> finest_type(["/person", "/person/artist", "/person/author"])
    '/person/artist'
    """
    return max(types, key=lambda name: name.strip("/").count("/"), default="")
