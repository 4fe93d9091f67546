"""Entities that documents name and the knowledge base does not have, found by a named-entity recogniser.

The id of such an entity is `new:`, its kind and its name: the same name of the same kind is the same entity in every
document. Ids of the knowledge base must not begin with `new:`, so a new entity is never one of its entities.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from sayso.documents.entity_graph import finest_type, kind_of_new, kind_of_type, name_of_new
from sayso.documents.type_guess import Guess
from sayso.io.atomic import atomic_file

NEW, NEW_ENTITIES = "new", "new_entities.tsv"
"""Folder of a corpus with the new entities of each shard, and the file with all of them."""

_NUM_SHOWN = 10


class NewEntities:
    """The new entities of a corpus with their numbers of sentences, most frequent first."""

    def __init__(self, corpus: Path) -> None:
        self._corpus, found = corpus, Counter[str]()
        for path in sorted((corpus / NEW).glob("[0-9]*")):
            with path.open(encoding="utf-8", newline="\n") as file:
                for line in file:
                    entity_id, _, number = line.rpartition("\t")
                    found[entity_id] += int(number)
        self._num_sentences = dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))

    def types(self, given: Mapping[str, Sequence[str]], guesses: Mapping[str, Guess]) -> dict[str, list[str]]:
        """Return their types: the guessed one if it is of the entity's kind, else the kind's most frequent top level.

        `given` are the types of the knowledge base; an entity of a kind without types has none.
        """
        common, found = _common_types(given), dict[str, list[str]]()
        for entity_id in self._num_sentences:
            kind, guess = kind_of_new(entity_id), guesses.get(entity_id)
            name = guess.type if guess and kind_of_type(guess.type) == kind else common.get(kind, "")
            found[entity_id] = [name] if name else []
        return found

    def write(self, types: Mapping[str, Sequence[str]]) -> None:
        """Write id, name, kind, type and number of sentences of each; without new entities, remove the file."""
        path = self._corpus / NEW_ENTITIES
        if not self._num_sentences:
            path.unlink(missing_ok=True)
            return
        with atomic_file(path) as file:
            for entity_id, number in self._num_sentences.items():
                columns = (
                    entity_id,
                    name_of_new(entity_id),
                    kind_of_new(entity_id),
                    finest_type(types.get(entity_id, ())),
                )
                file.write("\t".join((*columns, str(number))) + "\n")

    def report(self) -> dict[str, Any]:
        """Return their number, also by kind, and the most frequent ones with their numbers of sentences."""
        most = list(self._num_sentences.items())[:_NUM_SHOWN]
        return {
            "entities": len(self._num_sentences),
            "kinds": dict(Counter(map(kind_of_new, self._num_sentences)).most_common()),
            "most_frequent": {name_of_new(entity_id): number for entity_id, number in most},
        }


def new_entity_lines(num_sentences: Mapping[str, int]) -> list[str]:
    """Return a line for each new entity: its id and its number of sentences."""
    return [f"{entity_id}\t{number}" for entity_id, number in sorted(num_sentences.items())]


def _common_types(types: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the most frequent first level of the types of each kind: `/location` of `/location/city`."""
    tops: Counter[str] = Counter()
    for name in chain.from_iterable(types.values()):
        top = name.strip("/").partition("/")[0]
        tops[f"/{top}" if name.startswith("/") else top] += 1
    common: dict[str, str] = {}
    for name, _ in tops.most_common():
        common.setdefault(kind_of_type(name), name)
    return common
