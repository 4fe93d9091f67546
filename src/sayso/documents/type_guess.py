"""Guess the types of entities that have none, from their names and the words around their mentions.

The model is multinomial logistic regression on hashed binary features, trained in seconds.
Shapes: F features, K classes, M features in all rows of a batch, N rows.
"""

import zlib
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sayso.documents.entity_graph import finest_type, name_of_new
from sayso.documents.knowledge import Names
from sayso.documents.mention import MentioningSentence
from sayso.seeding import sub_seed

NUM_FEATURES = 2**16
_BATCH, _EPOCHS, _RATE = 64, 5, 0.2


def fit(rows: Sequence[np.ndarray], class_N: np.ndarray, num_classes: int, seed: int) -> np.ndarray:
    """Return weights trained with AdaGrad for a fixed number of epochs; a row is an array of feature indices.

    The same seed gives the same weights.
    """
    weight_FK = np.zeros((NUM_FEATURES, num_classes), np.float32)
    size_FK = np.full((NUM_FEATURES, num_classes), 1e-4, np.float32)
    rng = np.random.default_rng(seed)
    for _ in range(_EPOCHS):
        order = rng.permutation(len(rows))
        for first in range(0, len(rows), _BATCH):
            chosen = order[first : first + _BATCH]
            batch = [rows[number] for number in chosen]
            error_NK = probabilities(weight_FK, batch)
            error_NK[np.arange(len(batch)), class_N[chosen]] -= 1
            feature, gradient = _gradient(batch, error_NK)
            size_FK[feature] += gradient**2
            weight_FK[feature] -= _RATE * gradient / np.sqrt(size_FK[feature])
    return weight_FK


def probabilities(weight_FK: np.ndarray, rows: Sequence[np.ndarray]) -> np.ndarray:
    """Return each row's probability of each class, [N, K]."""
    starts = np.cumsum([0, *(len(row) for row in rows[:-1])])
    logit_NK = np.add.reduceat(weight_FK[np.concatenate(rows)], starts, axis=0) * _scales(rows)
    mass_NK = np.exp(logit_NK - logit_NK.max(axis=1, keepdims=True))
    probability_NK: np.ndarray = mass_NK / mass_NK.sum(axis=1, keepdims=True)
    return probability_NK


def _scales(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Return the scale of each row's features, which gives long and short rows the same weight."""
    return np.array([[len(row)] for row in rows], np.float32) ** -0.5


def _gradient(rows: Sequence[np.ndarray], error_NK: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct features of a batch, and the gradient of the loss with respect to their weights."""
    feature_M = np.concatenate(rows)
    row_M = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    order = np.argsort(feature_M, kind="stable")
    feature, starts = np.unique(feature_M[order], return_index=True)
    error_MK = (error_NK * _scales(rows))[row_M[order]]
    return feature, np.add.reduceat(error_MK, starts, axis=0)


WIDTH = 3
"""Number of context words on each side of a mention."""

MAX_CONTEXTS = 20
"""Maximum number of contexts used per entity: the first ones in the corpus."""


def context_lines(sentence: MentioningSentence) -> Iterator[str]:
    """Yield a tab-separated line for the first mention of each entity: its id, the words before, the words after."""
    tokens = sentence.tokens
    for entity in sentence.entities:
        for start, stop in entity.mention.spans[:1]:
            before, after = tokens[max(0, start - WIDTH) : start], tokens[stop : stop + WIDTH]
            yield f"{entity.mention.entity_id}\t{' '.join(before)}\t{' '.join(after)}"


LEAST_TYPED = 20
"""Types are guessed only if at least this many entities in the corpus have one."""

LEAST_PROBABILITY = 0.5
"""Less probable guesses are dropped."""

_MAX_TRAINED_ON = 20_000
_HELD_OUT_SHARE = 0.1


class Guess(NamedTuple):
    """A type and its probability."""

    type: str
    probability: float


class Guesses(NamedTuple):
    """Guessed types of untyped entities, and the quality of guesses on held-out entities with a known type.

    `share_guessed`: fraction of the `num_held_out` entities with a guess that is probable enough; `accuracy`: fraction
    of those guesses that are correct. None if nothing was trained or no guess was probable enough.
    """

    types: dict[str, Guess]
    num_learnt_from: int = 0
    num_held_out: int = 0
    accuracy: float | None = None
    share_guessed: float | None = None


def guess_types(
    read_lines: Callable[[], Iterable[str]], names: Names, types: Mapping[str, Sequence[str]], seed: int
) -> Guesses:
    """Guess types for the untyped entities in the corpus; each call of `read_lines` reads its contexts.

    Keeps the untyped entities and at most 20,000 typed ones in memory.
    """
    entity_ids = {line.partition("\t")[0] for line in read_lines()}
    finest = {entity_id: finest_type(types.get(entity_id, ())) for entity_id in entity_ids}
    typed = sorted(entity_id for entity_id, found in finest.items() if found)
    untyped = sorted(entity_id for entity_id, found in finest.items() if not found)
    labels = sorted({finest[entity_id] for entity_id in typed})
    if not untyped or len(typed) < LEAST_TYPED or len(labels) < 2:
        return Guesses({})
    order = np.random.default_rng(sub_seed(seed, "held out types")).permutation(len(typed))[:_MAX_TRAINED_ON]
    num_held_out = max(1, round(_HELD_OUT_SHARE * len(order)))
    held_out, learnt = ([typed[number] for number in part] for part in (order[:num_held_out], order[num_held_out:]))
    rows = _rows(read_lines(), names, (*held_out, *learnt, *untyped))
    classes = np.array([labels.index(finest[entity_id]) for entity_id in learnt])
    weight_FK = fit([rows[entity_id] for entity_id in learnt], classes, len(labels), sub_seed(seed, "types"))
    checked = _guessed(weight_FK, held_out, rows, labels)
    num_right = sum(guess.type == finest[entity_id] for entity_id, guess in checked.items())
    return Guesses(
        types=_guessed(weight_FK, untyped, rows, labels),
        num_learnt_from=len(learnt),
        num_held_out=num_held_out,
        accuracy=num_right / len(checked) if checked else None,
        share_guessed=len(checked) / num_held_out,
    )


def _rows(lines: Iterable[str], names: Names, wanted: Collection[str]) -> dict[str, np.ndarray]:
    """Return the distinct feature indices of each requested entity."""
    rows = {
        entity_id: array("i", _hashed(_about_name(names.get(entity_id) or _new_names(entity_id))))
        for entity_id in wanted
    }
    num_read = dict.fromkeys(wanted, 0)
    for line in lines:
        entity_id, before, after = line.rstrip("\n").split("\t")
        if num_read.get(entity_id, MAX_CONTEXTS) < MAX_CONTEXTS:
            num_read[entity_id] += 1
            for distance, word in enumerate(reversed(before.split(" "))):
                rows[entity_id].extend(_around("before", distance, word))
            for distance, word in enumerate(after.split(" ")):
                rows[entity_id].extend(_around("after", distance, word))
    return {entity_id: np.unique(np.frombuffer(row, np.int32)) for entity_id, row in rows.items()}


def _guessed(
    weight_FK: np.ndarray, entity_ids: Sequence[str], rows: Mapping[str, np.ndarray], labels: Sequence[str]
) -> dict[str, Guess]:
    """Return the guesses that are probable enough."""
    guesses = {}
    for first in range(0, len(entity_ids), _BATCH):
        batch = entity_ids[first : first + _BATCH]
        probability_NK = probabilities(weight_FK, [rows[entity_id] for entity_id in batch])
        for entity_id, best, probability in zip(batch, probability_NK.argmax(1), probability_NK.max(1), strict=True):
            if probability >= LEAST_PROBABILITY:
                guesses[entity_id] = Guess(labels[best], float(probability))
    return guesses


def _new_names(entity_id: str) -> tuple[str, ...]:
    name = name_of_new(entity_id)
    return (name,) if name else ()


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


@lru_cache(2**16)
def _around(side: str, distance: int, word: str) -> list[int]:
    """Return the features of a word at a distance from a mention, of which 0 is the nearest."""
    return _hashed((f"{side} {distance} {word.lower()}", f"{side} {word.lower()}"))


def _hashed(features: Iterable[str]) -> list[int]:
    return [zlib.crc32(feature.encode()) % NUM_FEATURES for feature in features]
