"""The scores of explanations on the sentences that people have marked, and nothing else: τ without a whole report.

Shapes: N sentences of a part, R relations, F facts with a mark, E their sentences, fact after fact.
"""

from collections.abc import Mapping

import numpy as np

from sayso.explain.base import Explainer, explain_all
from sayso.explain.marks import Marks
from sayso.features.collate import Part
from sayso.metrics.marked import MarkedFacts
from sayso.model.extractor import Extractor
from sayso.model.predict import slices_of_logits
from sayso.store.rows import Rows, ranges


def marked_facts(
    extractor: Extractor, part: Part, marks: Marks, mechanisms: Mapping[str, Explainer]
) -> dict[str, MarkedFacts]:
    """Return, for each mechanism, the scores of all sentences of every fact with a mark."""
    table = part.table
    fact_F2 = np.unique(np.stack([table.bag_N[marks.keys[:, 0]], marks.keys[:, 1]], axis=1), axis=0)
    bag_F, relation_F = fact_F2[:, 0], fact_F2[:, 1]
    size_F = table.size_B[bag_F]
    sentences = Rows.of_lengths(ranges(table.first_B1[bag_F], size_F), size_F)
    relation_E = np.repeat(relation_F, size_F)
    logit_BR, score_NR = _score(extractor, part, mechanisms, np.unique(bag_F))
    whole = MarkedFacts(
        score_N=np.zeros(len(relation_E)),
        mark_N=marks.look_up(sentences.value, relation_E),
        start_F1=sentences.start,
        bag_F=bag_F,
        probability_F=1.0 / (1.0 + np.exp(-logit_BR[bag_F, relation_F].astype(np.float64))),
    )
    return {
        name: MarkedFacts(**(vars(whole) | {"score_N": scores[sentences.value, relation_E].astype(np.float64)}))
        for name, scores in score_NR.items()
    }


def _score(
    extractor: Extractor, part: Part, mechanisms: Mapping[str, Explainer], bags: np.ndarray
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return logits of all bags, and scores of the sentences in slices that hold a wanted bag; zero elsewhere."""
    table = part.table
    logits = np.zeros((table.num_bags, part.num_relations), np.float32)
    scores = {name: np.zeros((table.num_sentences, part.num_relations), np.float32) for name in mechanisms}
    first = 0
    for batch, vector_ND, logit_BR in slices_of_logits(extractor, part):
        stop = first + batch.bags.num_bags
        logits[first:stop] = logit_BR.cpu().numpy()
        if ((bags >= first) & (bags < stop)).any():
            rows = slice(int(table.first_B1[first]), int(table.first_B1[stop]))
            for name, score_NR in explain_all(mechanisms, extractor, vector_ND, batch.bags).items():
                scores[name][rows] = score_NR.detach().cpu().numpy()
        first = stop
    return logits, scores
