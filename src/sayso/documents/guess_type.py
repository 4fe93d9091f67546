"""Types for entities that have none, guessed from their names and the words around them, as the typed ones show."""

import zlib
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sayso.documents.context import entities_of, read_contexts
from sayso.documents.link import finest_type
from sayso.documents.logistic import NUM_FEATURES, Logistic, fit
from sayso.documents.name_table import Names
from sayso.seeding import sub_seed

LEAST_TYPED = 20
"""With fewer typed entities in the corpus nothing is guessed."""

LEAST_PROBABILITY = 0.5
"""A guess that is less sure is none."""

_MOST_LEARNT_FROM = 20_000
_HELD_OUT_SHARE = 0.1


class Guess(NamedTuple):
    """A type and how sure the typer is."""

    type: str
    probability: float


class Guesses(NamedTuple):
    """Types of entities that had none, and how good such guesses are on entities whose type is known.

    `accuracy` is of the guesses that are sure enough, on `num_held_out` entities that the typer did not learn from;
    `share_guessed` is the share of those for which it is. None where nothing was learnt or nothing was sure enough.
    """

    types: dict[str, Guess]
    num_learnt_from: int = 0
    num_held_out: int = 0
    accuracy: float | None = None
    share_guessed: float | None = None


def guess_types(
    read_lines: Callable[[], Iterable[str]], names: Names, types: Mapping[str, Sequence[str]], seed: int
) -> Guesses:
    """Return a type for entities of the corpus that have none; `read_lines` gives its contexts, again at each call.

    Memory holds the entities without a type and at most 20,000 of the others.
    """
    there = entities_of(read_lines())
    finest = {entity_id: finest_type(types.get(entity_id, ())) for entity_id in there}
    typed = sorted(entity_id for entity_id, found in finest.items() if found)
    untyped = sorted(entity_id for entity_id, found in finest.items() if not found)
    labels = sorted({finest[entity_id] for entity_id in typed})
    if not untyped or len(typed) < LEAST_TYPED or len(labels) < 2:
        return Guesses({})
    order = np.random.default_rng(sub_seed(seed, "held out types")).permutation(len(typed))[:_MOST_LEARNT_FROM]
    num_held_out = max(1, round(_HELD_OUT_SHARE * len(order)))
    held_out, learnt = ([typed[number] for number in part] for part in (order[:num_held_out], order[num_held_out:]))
    rows = _rows(read_lines(), names, (*held_out, *learnt, *untyped))
    classes = np.array([labels.index(finest[entity_id]) for entity_id in learnt])
    model = fit([rows[entity_id] for entity_id in learnt], classes, len(labels), sub_seed(seed, "types"))
    checked = _guessed(model, held_out, rows, labels)
    num_right = sum(guess.type == finest[entity_id] for entity_id, guess in checked.items())
    return Guesses(
        types=_guessed(model, untyped, rows, labels),
        num_learnt_from=len(learnt),
        num_held_out=num_held_out,
        accuracy=num_right / len(checked) if checked else None,
        share_guessed=len(checked) / num_held_out,
    )


def _rows(lines: Iterable[str], names: Names, wanted: Collection[str]) -> dict[str, np.ndarray]:
    """Return the numbers of each wanted entity's features, each once."""
    rows = {entity_id: array("i", _hashed(_about_name(names.get(entity_id, ())))) for entity_id in wanted}
    for entity_id, before, after in read_contexts(lines, wanted):
        rows[entity_id].extend(_hashed(_around("before", reversed(before))))
        rows[entity_id].extend(_hashed(_around("after", after)))
    return {entity_id: np.unique(np.frombuffer(row, np.int32)) for entity_id, row in rows.items()}


def _guessed(
    model: Logistic, entity_ids: Sequence[str], rows: Mapping[str, np.ndarray], labels: Sequence[str]
) -> dict[str, Guess]:
    """Return the guesses that are sure enough."""
    probability_NK = model.probabilities([rows[entity_id] for entity_id in entity_ids])
    guesses = {}
    for entity_id, probability_K in zip(entity_ids, probability_NK, strict=True):
        best = int(probability_K.argmax())
        if probability_K[best] >= LEAST_PROBABILITY:
            guesses[entity_id] = Guess(labels[best], float(probability_K[best]))
    return guesses


def _about_name(names: Sequence[str]) -> Iterator[str]:
    """Yield the features of an entity's names: words, endings, shape."""
    for name in names:
        words = name.split()
        for word in words:
            yield f"word {word.lower()}"
            yield f"ending {word[-3:].lower()}"
        yield f"first {words[0].lower()}"
        yield f"last {words[-1].lower()}"
        yield f"words {min(len(words), 4)}"
        yield f"shape {' '.join('A' if word[0].isupper() else 'a' for word in words[:4])}"


def _around(side: str, words: Iterable[str]) -> Iterator[str]:
    """Yield the features of the words on one side, the nearest first."""
    for distance, word in enumerate(words):
        yield f"{side} {distance} {word.lower()}"
        yield f"{side} {word.lower()}"


def _hashed(features: Iterable[str]) -> list[int]:
    return [zlib.crc32(feature.encode()) % NUM_FEATURES for feature in features]
