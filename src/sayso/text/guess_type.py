"""Types for entities that have none, guessed from their names and the words around them, as the typed ones show."""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sayso.seeding import sub_seed
from sayso.text.link import finest_type
from sayso.text.logistic import NUM_FEATURES, Logistic, fit
from sayso.text.name_table import Names

LEAST_TYPED = 20
"""With fewer typed entities in the corpus nothing is guessed."""

LEAST_PROBABILITY = 0.5
"""A guess that is less sure is none."""

_MOST_LEARNT_FROM = 20_000
_HELD_OUT_SHARE = 0.1

Context = tuple[list[str], list[str]]


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
    contexts: Mapping[str, Sequence[Context]], names: Names, types: Mapping[str, Sequence[str]], seed: int
) -> Guesses:
    """Return a type for entities of the corpus (those with contexts) that have none."""
    finest = {entity_id: finest_type(types.get(entity_id, ())) for entity_id in contexts}
    typed = sorted(entity_id for entity_id, found in finest.items() if found)
    untyped = sorted(entity_id for entity_id, found in finest.items() if not found)
    labels = sorted({finest[entity_id] for entity_id in typed})
    if not untyped or len(typed) < LEAST_TYPED or len(labels) < 2:
        return Guesses({})
    order = np.random.default_rng(sub_seed(seed, "held out types")).permutation(len(typed))[:_MOST_LEARNT_FROM]
    num_held_out = max(1, round(_HELD_OUT_SHARE * len(order)))
    held_out, learnt = ([typed[number] for number in part] for part in (order[:num_held_out], order[num_held_out:]))
    rows = {entity_id: _features(names.get(entity_id, ()), contexts[entity_id]) for entity_id in contexts}
    number_of = {label: number for number, label in enumerate(labels)}
    classes = np.array([number_of[finest[entity_id]] for entity_id in learnt])
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


def _features(names: Sequence[str], contexts: Sequence[Context]) -> np.ndarray:
    """Return the numbers of an entity's features: hashed words, endings and shapes of its names, words around it."""
    found: set[str] = set()
    for name in names:
        words = name.split()
        found.update(f"word {word.lower()}" for word in words)
        found.update(f"ending {word[-3:].lower()}" for word in words)
        found |= {f"first {words[0].lower()}", f"last {words[-1].lower()}", f"words {min(len(words), 4)}"}
        found.add(f"shape {' '.join('A' if word[0].isupper() else 'a' for word in words[:4])}")
    for before, after in contexts:
        found |= _around("before", reversed(before)) | _around("after", after)
    return np.array(sorted({zlib.crc32(each.encode()) % NUM_FEATURES for each in found}), np.int64)


def _around(side: str, words: Iterable[str]) -> set[str]:
    found = set()
    for distance, word in enumerate(words):
        found |= {f"{side} {distance} {word.lower()}", f"{side} {word.lower()}"}
    return found
