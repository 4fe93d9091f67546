"""What DirectSup's sentence classifier has learned: its mean weight by source of the sentence.

If positives come from one source and negatives from another, a classifier can learn the source instead of the task.
"""

import numpy as np
import torch

from sayso.features.collate import Part
from sayso.model.extractor import Extractor
from sayso.model.predict import slices_of_logits
from sayso.model.ragged import bag_max


@torch.no_grad()
def weights_by_source(extractor: Extractor, corpus: Part, direct: Part | None) -> dict[str, float]:
    """Return the mean weight of sentences of positive and of NA bags, and of direct positives and negatives.

    `silent_share` is the share of dimensions in which all sentences of a bag are zero.
    """
    weight_N, silent = _weigh(extractor, corpus)
    is_positive_N = np.repeat(corpus.table.is_positive_B, corpus.table.size_B)
    found = {
        "positive_bags": float(weight_N[is_positive_N].mean()),
        "na_bags": float(weight_N[~is_positive_N].mean()),
        "silent_share": silent,
    }
    if direct is not None:
        weight_Q, _ = _weigh(extractor, direct)
        expresses_Q = direct.table.expresses_N
        found["direct_positives"] = float(weight_Q[expresses_Q >= 0.5].mean())
        found["direct_negatives"] = float(weight_Q[expresses_Q < 0.5].mean())
    return found


def _weigh(extractor: Extractor, part: Part) -> tuple[np.ndarray, float]:
    weights, silent = [], []
    for batch, vector_ND, _ in slices_of_logits(extractor, part):
        weights.append(extractor.aggregator.weigh(vector_ND, batch.bags).mean(1).cpu().numpy())
        peak_BD = bag_max(vector_ND, batch.bags.bag_N, batch.bags.num_bags)
        silent.append((peak_BD == 0).float().mean(1).cpu().numpy())
    return np.concatenate(weights), float(np.concatenate(silent).mean())
