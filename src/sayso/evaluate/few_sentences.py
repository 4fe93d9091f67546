"""How well facts are extracted from few sentences: the One / Two / All protocol of Lin et al. 2016.

Shapes: B bags, N sentences of all bags together, R relations.
"""

from dataclasses import dataclass

import numpy as np
import torch

from sayso.features.batch import BagIndex
from sayso.features.collate import Part
from sayso.metrics.precision_recall import precision_at, precision_recall_curve
from sayso.model.extractor import Extractor
from sayso.model.predict import slices_of_logits
from sayso.seeding import sub_seed

MOST_SENTENCES: dict[str, int | None] = {"one": 1, "two": 2, "all": None}
"""How many sentences of each bag are kept, drawn at random."""
FIRST = (100, 200, 300)


@dataclass(frozen=True, kw_only=True)
class FewSentenceFigures:
    """Precision among the first 100, 200 and 300 facts, and their mean, over bags of two or more sentences."""

    precision_at_100: float
    precision_at_200: float
    precision_at_300: float
    mean: float
    num_bags: int


def few_sentence_figures(extractor: Extractor, part: Part, seed: int) -> dict[str, FewSentenceFigures]:
    """Return the figures with one sentence a bag, two, and all; empty where no bag has two sentences."""
    bags = np.flatnonzero(part.table.size_B >= 2)
    label_BR = part.label_rows(bags).numpy()
    if not label_BR.any():
        return {}
    logits = logits_of_few(extractor, part, seed)
    return {name: _figures(logit_BR, label_BR) for name, logit_BR in logits.items()}


@torch.no_grad()
def logits_of_few(extractor: Extractor, part: Part, seed: int) -> dict[str, np.ndarray]:
    """Return logit_BR of the bags of two or more sentences, by how many of each are kept; encoded once for all."""
    rank_N = _ranks(part, np.random.default_rng(sub_seed(seed, "few sentences")))
    found: dict[str, list[np.ndarray]] = {name: [] for name in MOST_SENTENCES}
    first = 0
    for batch, vector_ND, _ in slices_of_logits(extractor, part):
        bag_N = batch.bags.bag_N.cpu().numpy()
        is_large_B = np.bincount(bag_N, minlength=batch.bags.num_bags) >= 2
        here_N = rank_N[first : first + len(bag_N)]
        first += len(bag_N)
        if not is_large_B.any():
            continue
        number_B, large = np.cumsum(is_large_B) - 1, torch.from_numpy(np.flatnonzero(is_large_B))
        for name, most in MOST_SENTENCES.items():
            kept = np.flatnonzero(is_large_B[bag_N] & (here_N < (most or len(bag_N))))
            index = BagIndex(
                bag_N=torch.from_numpy(number_B[bag_N[kept]]).to(vector_ND.device),
                head_B=batch.bags.head_B[large],
                tail_B=batch.bags.tail_B[large],
            )
            found[name].append(extractor.classify(vector_ND[torch.from_numpy(kept)], index).cpu().numpy())
    return {name: np.concatenate(pieces) for name, pieces in found.items() if pieces}


def _ranks(part: Part, rng: np.random.Generator) -> np.ndarray:
    """Return each sentence's place in a random order of its bag."""
    bag_N = part.table.bag_N
    order = np.lexsort((rng.random(len(bag_N)), bag_N))
    rank_N = np.empty(len(bag_N), np.int64)
    rank_N[order] = np.arange(len(bag_N)) - part.table.first_B1[:-1][bag_N]
    return rank_N


def _figures(logit_BR: np.ndarray, label_BR: np.ndarray) -> FewSentenceFigures:
    curve = precision_recall_curve(logit_BR.ravel(), label_BR.ravel(), int(label_BR.sum()))
    at = {f"precision_at_{num}": precision_at(curve, num) for num in FIRST}
    return FewSentenceFigures(**at, mean=float(np.mean(list(at.values()))), num_bags=len(label_BR))
