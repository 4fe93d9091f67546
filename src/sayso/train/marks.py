"""The marks that a run learns from, bag by bag.

Shapes: B marked bags, F marked facts, K marks, P pairs of a rationale and an irrelevant sentence of one fact.
"""

import numpy as np
import torch

from sayso.features.batch import MarkBatch
from sayso.metrics.rationale import IRRELEVANT, RATIONALE
from sayso.store.folds import Withheld
from sayso.store.group import combined
from sayso.store.marks import SentenceMarks
from sayso.store.rows import Rows
from sayso.store.table import BagTable


class MarkedBags:
    """The training bags with a mark that says rationale or irrelevant; unsure and tied marks are not used."""

    def __init__(self, table: BagTable, marks: SentenceMarks) -> None:
        taught = sorted((*key, code) for key, code in marks.by_sentence.items() if code in (RATIONALE, IRRELEVANT))
        self.sentence_K, self.relation_K, code_K = np.array(taught, np.int64).reshape(-1, 3).T
        self.is_rationale_K = code_K == RATIONALE
        # Sentences of a bag are adjacent in the table, so the sorted marks of a bag are, too.
        bag_K = np.searchsorted(table.first_B1, self.sentence_K, side="right") - 1
        _, place_K, length_B = np.unique(bag_K, return_inverse=True, return_counts=True)
        self._marks = Rows.of_lengths(np.arange(len(bag_K)), length_B)
        _, fact_K = np.unique(combined(bag_K, self.relation_K), return_inverse=True)
        self.rationale_P, self.irrelevant_P = _pairs(fact_K, self.is_rationale_K)
        self._fact_P = fact_K[self.rationale_P]
        self._share_P = 1.0 / np.bincount(self._fact_P)[self._fact_P]
        num_pairs_B = np.bincount(place_K[self.rationale_P], minlength=len(length_B))
        self._pairs = Rows.of_lengths(np.arange(len(self.rationale_P)), num_pairs_B)

    @property
    def all_bags(self) -> np.ndarray:
        """The indices of the bags with marks."""
        return np.arange(len(self._marks))

    @property
    def ranked_bags(self) -> np.ndarray:
        """The indices of the bags with a fact that has marks of both kinds."""
        return np.flatnonzero(self._pairs.length)

    def take(self, whole: np.ndarray, mine: np.ndarray) -> tuple[np.ndarray, MarkBatch]:
        """Return the rows and the marks of the marked sentences of `mine`, a shard of the `whole` batch's marked bags.

        Both lists of bags are sorted and without duplicates. The marks refer to the returned sentences.
        """
        mark_K, pair_P = self._marks.take(mine).value, self._pairs.take(mine).value
        row_W, place_K = np.unique(self.sentence_K[mark_K], return_inverse=True)
        num_marks = int(self._marks.length[whole].sum())
        num_ranked = len(np.unique(self._fact_P[self._pairs.take(whole).value]))
        weight_P = self._share_P[pair_P] / max(num_ranked, 1)
        return row_W, MarkBatch(
            sentence_K=torch.from_numpy(place_K),
            relation_K=torch.from_numpy(self.relation_K[mark_K]),
            target_K=torch.from_numpy(self.is_rationale_K[mark_K].astype(np.float32)),
            weight_K=torch.full((len(mark_K),), 1.0 / max(num_marks, 1)),
            rationale_P=torch.from_numpy(np.searchsorted(mark_K, self.rationale_P[pair_P])),
            irrelevant_P=torch.from_numpy(np.searchsorted(mark_K, self.irrelevant_P[pair_P])),
            weight_P=torch.from_numpy(weight_P.astype(np.float32)),
        )


def marks_without(marks: SentenceMarks, before: BagTable, withheld: Withheld) -> SentenceMarks:
    """Return the marks on the bags that are left, without those on withheld facts; `before` are all bags."""
    number_B = np.full(before.num_bags, -1)
    number_B[withheld.bag_B[~withheld.is_withheld_B]] = np.flatnonzero(~withheld.is_withheld_B)
    bag_N, kept = before.bag_N, {}
    for (sentence, relation), code in marks.by_sentence.items():
        bag = int(bag_N[sentence])
        if number_B[bag] >= 0:
            row = sentence - int(before.first_B1[bag]) + int(withheld.table.first_B1[number_B[bag]])
            kept[row, relation] = code
    return SentenceMarks(by_sentence=kept, report=marks.report)


def _pairs(fact_K: np.ndarray, is_rationale_K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return every rationale mark with every irrelevant mark of the same fact, in the order of the rationales."""
    rationale, irrelevant = np.flatnonzero(is_rationale_K), np.flatnonzero(~is_rationale_K)
    order = np.argsort(fact_K[irrelevant], kind="stable")
    num_F = np.bincount(fact_K[irrelevant], minlength=int(fact_K.max(initial=-1)) + 1)
    partners = Rows.of_lengths(irrelevant[order], num_F).take(fact_K[rationale])
    return np.repeat(rationale, partners.length), partners.value
