"""A distractor dressed for its new bag: this bag's mentions in place of its own."""

import numpy as np

from sayso.distractors.choose import Chosen
from sayso.store.rows import Rows
from sayso.store.splice import Marked, cut_to_window, first_mentions, replace_mentions
from sayso.store.table import BagTable


def dress(bags: BagTable, pool: BagTable, chosen: Chosen) -> BagTable:
    """Return one bag for each chosen fact: the pair of the fact's bag, and the distractor as its only sentence.

    Where the distractor names its own pair, it now has the words by which the first sentence of the bag names its
    pair. The label is the relation it distracts from.
    """
    distractors = _marked(pool, chosen.sentence_M)
    own = _marked(bags, bags.first_B1[:-1][chosen.bag_M])
    dressed = replace_mentions(distractors, first_mentions(own, own.head_spans), first_mentions(own, own.tail_spans))
    num = len(chosen.bag_M)
    length_M = dressed.tokens.length
    return BagTable(
        head_B=bags.head_B[chosen.bag_M],
        tail_B=bags.tail_B[chosen.bag_M],
        relations=Rows(chosen.relation_M.astype(np.int32), np.arange(num + 1)),
        first_B1=np.arange(num + 1),
        tokens=dressed.tokens,
        head_spans=dressed.head_spans,
        tail_spans=dressed.tail_spans,
        window_N2=np.stack([np.zeros(num, np.int64), length_M], axis=1),
        expresses_N=np.full(num, np.nan, np.float32),
        document_N=np.full(num, -1, np.int32),
        place_N2=np.zeros((num, 2), np.int64),
        glued=Rows.empty(num),
        curly=Rows.empty(num),
    )


def _marked(table: BagTable, sentence_M: np.ndarray) -> Marked:
    """Return the part that a model reads of these sentences."""
    whole = Marked(table.tokens.take(sentence_M), table.head_spans.take(sentence_M), table.tail_spans.take(sentence_M))
    return cut_to_window(whole, table.window_N2[sentence_M])
