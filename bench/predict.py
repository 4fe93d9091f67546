"""Bag prediction on CPU (encode, aggregate, score) in sentences per second, relative to both references."""

import statistics
from functools import partial

import numpy as np
import torch

from drawn import draw_table, make_extractor, make_part
from figure import Figure, at_least, ratio, record
from measure import side_by_side, threads
from reference.no_padding import UnpaddedModel
from reference.padded import PaddedModel
from reference.plain import PlainModel
from sayso.features.batch import Part, collate
from sayso.model.extractor import Extractor
from sayso.model.predict import predict_logits

NUM_OURS, NUM_PADDED, NUM_UNPADDED = 20_000, 600, 2_000
"""Number of sentences; slower implementations get fewer."""
BATCH_BAGS = 160
REPEATS = 4
TOLERANCE = 1e-4
SYSTEMS = {"attention": "CNNs+ATT", "direct": "DirectSup"}


@torch.no_grad()
def predict_plainly(model: PlainModel, part: Part) -> np.ndarray:
    """Return logit_BR of the bags, batch by batch."""
    batches = np.split(np.arange(part.table.num_bags), range(BATCH_BAGS, part.table.num_bags, BATCH_BAGS))
    return torch.cat([model(collate(part, bags)) for bags in batches]).numpy()


def refuse_difference(extractor: Extractor, models: list[PlainModel], part: Part) -> float:
    """Return the largest difference between logits; fail if rounding cannot explain it."""
    ours = predict_logits(extractor, part)
    difference = max(float(np.abs(predict_plainly(model, part) - ours).max()) for model in models)
    print(f"largest difference between logits: {difference:.1e}", flush=True)
    assert difference <= TOLERANCE, "ours and the references disagree"
    return difference


def measure(kind: str) -> list[Figure]:
    """Return the two ratios for one system."""
    extractor = make_extractor(kind)
    padded, unpadded = PaddedModel(extractor), UnpaddedModel(extractor)
    parts = {num: make_part(draw_table(num)) for num in (NUM_OURS, NUM_PADDED, NUM_UNPADDED)}
    difference = refuse_difference(extractor, [padded, unpadded], parts[NUM_PADDED])
    seconds = side_by_side(
        {
            "ours": partial(predict_logits, extractor, parts[NUM_OURS]),
            "padded": partial(predict_plainly, padded, parts[NUM_PADDED]),
            "no padding": partial(predict_plainly, unpadded, parts[NUM_UNPADDED]),
        },
        REPEATS,
    )
    speed = {
        name: [num / each for each in seconds[name]]
        for name, num in (("ours", NUM_OURS), ("padded", NUM_PADDED), ("no padding", NUM_UNPADDED))
    }
    # Each token is multiplied by 2 + 3 + 4 + 5 rows of 100 filters, each as wide as a word and two positions.
    summed = statistics.median(speed["ours"]) * 39 * 1400
    computed = statistics.median(speed["no padding"]) * 39 * 1400 * 2 * 310
    note = (
        f"{threads()}; logits agree to {difference:.0e}; ours sums {summed / 1e9:.1f} billion"
        f" table values per second ({4 * summed / 1e9:.0f} GB/s of randomly accessed, prefetched rows), the"
        f" dense convolution without padding computes {computed / 1e9:.0f} GFLOP/s"
    )
    return [
        ratio(f"predict, {SYSTEMS[kind]} vs. {name}", speed["ours"], speed[name], "sentences/s", target, note)
        for name, target in (("padded", at_least(100)), ("no padding", at_least(30)))
    ]


if __name__ == "__main__":
    record([figure for kind in SYSTEMS for figure in measure(kind)])
