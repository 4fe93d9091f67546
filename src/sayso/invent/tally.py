"""What came out: counts of one part of an invented corpus, for the manifest and the table."""

from collections.abc import Sequence
from typing import NamedTuple

from sayso.invent.sample import MadeSentence


class PartCounts(NamedTuple):
    """Counts and shares of training or test.

    `irrelevant_share`: of the sentences of positive bags, those that state none of the labels.
    `supported_share`: of the facts (bag, label), those that at least one sentence of the bag states.
    `unseen_wording_share`: of all sentences, those with a wording that training does not have.
    """

    sentences: int
    bags: int
    positive_bags: int
    multi_label_bags: int
    facts: int
    na_sentences: int
    single_sentence_share: float
    largest_bag: int
    mean_tokens: float
    irrelevant_share: float
    supported_share: float
    unseen_wording_share: float


class PartTally:
    """Counts as bags go by."""

    def __init__(self) -> None:
        self._sizes: list[int] = []
        self._num_labels: list[int] = []
        self._num_tokens = self._num_na = self._num_irrelevant = self._num_supported = self._num_unseen = 0

    def add(self, bag: Sequence[MadeSentence], num_unseen: int) -> None:
        """Count a bag, of whose sentences so many have unseen wordings."""
        labels = bag[0].sentence.relations
        self._sizes.append(len(bag))
        self._num_labels.append(len(labels))
        self._num_tokens += sum(len(made.sentence.tokens) for made in bag)
        self._num_unseen += num_unseen
        if labels:
            stated = [label for made in bag for label in made.wording.states if label in labels]
            self._num_supported += len(set(stated))
            self._num_irrelevant += sum(not set(made.wording.states) & set(labels) for made in bag)
        else:
            self._num_na += len(bag)

    def counts(self) -> PartCounts:
        """Return the counts so far."""
        num_sentences, facts = sum(self._sizes), sum(self._num_labels)
        return PartCounts(
            sentences=num_sentences,
            bags=len(self._sizes),
            positive_bags=sum(number > 0 for number in self._num_labels),
            multi_label_bags=sum(number > 1 for number in self._num_labels),
            facts=facts,
            na_sentences=self._num_na,
            single_sentence_share=_share(self._sizes.count(1), len(self._sizes)),
            largest_bag=max(self._sizes, default=0),
            mean_tokens=_share(self._num_tokens, num_sentences),
            irrelevant_share=_share(self._num_irrelevant, num_sentences - self._num_na),
            supported_share=_share(self._num_supported, facts),
            unseen_wording_share=_share(self._num_unseen, num_sentences),
        )


def _share(part: float, whole: float) -> float:
    return round(part / whole, 4) if whole else 0.0
