"""Bags that a library user built, checked and read for a trained model."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sayso.errors import BadArgumentError
from sayso.features.lexicon import Entities, Lexicon, TypesById
from sayso.features.own_sentences import InputBags, InputBuilder
from sayso.records import Bag, Sentence

_log = logging.getLogger("sayso")


@dataclass(frozen=True, kw_only=True)
class OwnBags:
    """The sentences that a model can read: `row_B` are the rows of their bags, `bag_N` the bag of each sentence."""

    intake: InputBuilder
    sentences: list[Sentence]
    row_B: np.ndarray
    bag_N: np.ndarray

    def taken(self, num_relations: int, types: TypesById | None, uses_entities: bool) -> InputBags:
        """Return the bags in the model's numbers, with a logged warning about unknown entities."""
        taken = self.intake.finish(num_relations, types or {}, self.bag_N)
        warn_unknown(taken.entities, self.intake.lexicon, uses_entities)
        return taken


def read_bags(bags: Sequence[Bag], lexicon: Lexicon) -> OwnBags:
    """Return the sentences that the model can read; a logged warning counts the others.

    Raises:
        TypeError: `bags` is a single bag, or holds something that is not a bag.
        BadArgumentError: A bag has no sentences, or one that does not fit it.
    """
    _refuse_other_than_bags(bags)
    intake, rows, sentences = InputBuilder(lexicon), [], []
    for row, bag in enumerate(bags):
        where = f"bag {row + 1} ({bag.head_id}, {bag.tail_id})"
        if not bag.sentences:
            raise BadArgumentError(f"{where} has no sentences")
        for number, sentence in enumerate(bag.sentences, 1):
            if problem := _problem(sentence, bag):
                raise BadArgumentError(f"{where}: sentence {number}: {problem}")
            if intake.add(sentence):
                rows.append(row)
                sentences.append(sentence)
    if num := intake.num_too_far_apart:
        left_out = "1 sentence is left out" if num == 1 else f"{num:,} sentences are left out"
        _log.warning("%s: %s", left_out, too_far_apart(lexicon))
    row_B, bag_N = np.unique(np.array(rows, np.int64), return_inverse=True)
    return OwnBags(intake=intake, sentences=sentences, row_B=row_B, bag_N=bag_N)


def label_rows(bags: Sequence[Bag], relations: Sequence[str]) -> np.ndarray:
    """Return label_BR, the relations that each bag is labelled with; raise `BadArgumentError` for an unknown one."""
    _refuse_other_than_bags(bags)
    column = {name: number for number, name in enumerate(relations)}
    label_BR = np.zeros((len(bags), len(column)), bool)
    for row, bag in enumerate(bags):
        if unknown := bag.relations - column.keys():
            raise BadArgumentError(f"bag {row + 1}: the model does not know the relation {min(unknown)!r}")
        label_BR[row, [column[name] for name in bag.relations]] = True
    return label_BR


def _refuse_other_than_bags(bags: Sequence[Bag]) -> None:
    """Raise `TypeError` unless this is a list of bags; a bag is itself a tuple, and would pass for one."""
    if isinstance(bags, Bag):
        raise TypeError("a list of bags is expected, not a single bag: write [bag]")
    for number, bag in enumerate(bags, 1):
        if not isinstance(bag, Bag):
            raise TypeError(f"bag {number} is a {type(bag).__name__}, not a sayso.Bag: see Bag.from_sentences")


def too_far_apart(lexicon: Lexicon) -> str:
    """Return why a sentence cannot be read."""
    return f"its mentions are more than {lexicon.max_tokens} tokens apart"


def warn_unknown(entities: Entities, lexicon: Lexicon, uses_entities: bool) -> None:
    """Log the number of unknown entities, if the model uses more of an entity than its words."""
    uses_types = lexicon.mentions != "words"
    if not entities.num_unknown or not (uses_types or uses_entities):
        return
    untyped = f"; {entities.num_untyped:,} have no type and count as {lexicon.types[0]}: pass `types`"
    _log.warning(
        "%s of %s entities are unknown to the model%s",
        f"{entities.num_unknown:,}",
        f"{len(entities.ids):,}",
        untyped if uses_types and entities.num_untyped else "",
    )


def _problem(sentence: Sentence, bag: Bag) -> str:
    """Return what is wrong with a sentence that was built by hand, or an empty string."""
    if sentence.pair != (bag.head_id, bag.tail_id):
        return f"it names the pair {sentence.pair}"
    spans = (*sentence.head.spans, *sentence.tail.spans)
    if not sentence.head.spans or not sentence.tail.spans:
        return "a mention has no spans"
    if any(not 0 <= start < stop <= len(sentence.tokens) for start, stop in spans):
        return f"a mention lies outside the {len(sentence.tokens)} tokens"
    if any(one.stop > other.start for one, other in pairwise(sorted(spans))):
        return "mentions overlap"
    return ""
