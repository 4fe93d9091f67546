"""Cost of explanations: the paper's four mechanisms for every sentence and relation, relative to plain prediction.

Also relative to a naive implementation: autograd in a loop over relations, and one run per removed sentence.
"""

from functools import partial

import torch
from torch import Tensor

from drawn import draw_table, make_extractor, make_part
from figure import Figure, at_most, ratio, record
from measure import side_by_side, threads
from reference.padded import PaddedModel
from sayso.explain import EXPLAINERS
from sayso.explain.base import explain_all
from sayso.features.batch import BagIndex, Part
from sayso.model.extractor import Extractor
from sayso.model.predict import slices_of_logits

PAPER = ("attention", "saliency", "gradient_x_input", "leave_one_out")
NUM_SENTENCES, NUM_PLAIN = 4_000, 120
PREDICTION_BUDGET, AUTOGRAD_BUDGET = 2.0, 0.05
REPEATS = 4


def explain(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> dict[str, Tensor]:
    """Return the four mechanisms' scores."""
    return explain_all({name: EXPLAINERS[name] for name in PAPER}, extractor, vector_ND, bags)


def predict(extractor: Extractor, part: Part) -> None:
    """Predict the whole part."""
    for _ in slices_of_logits(extractor, part):
        pass


@torch.no_grad()
def predict_and_explain(extractor: Extractor, part: Part) -> None:
    """Predict the whole part and score every sentence."""
    for batch, vector_ND, _ in slices_of_logits(extractor, part):
        explain(extractor, vector_ND, batch.bags)


def agree(extractor: Extractor, reference: PaddedModel, vector_ND: Tensor, bags: BagIndex) -> None:
    """Fail if the two implementations disagree."""
    expected = reference.explain(vector_ND, bags)
    for name, score_NR in explain(extractor, vector_ND, bags).items():
        scale = float(expected[name].abs().max())
        wanted_NR = expected[name].expand_as(score_NR) if score_NR.shape[1] > 1 else expected[name][:, :1]
        torch.testing.assert_close(score_NR, wanted_NR, atol=1e-5 * scale, rtol=1e-3)


def measure(kind: str, use_entities: bool) -> list[Figure]:
    """Return the ratios for one model, after checking that both implementations agree."""
    extractor = make_extractor(kind, use_entities)
    reference = PaddedModel(extractor)
    part, few = make_part(draw_table(NUM_SENTENCES)), make_part(draw_table(NUM_PLAIN))
    ((batch, vector_ND, _),) = slices_of_logits(extractor, few)
    agree(extractor, reference, vector_ND, batch.bags)
    seconds = side_by_side(
        {
            "predict": partial(predict, extractor, part),
            "both": partial(predict_and_explain, extractor, part),
            "held": partial(torch.no_grad()(explain), extractor, vector_ND, batch.bags),
            "plain": partial(reference.explain, vector_ND, batch.bags),
        },
        REPEATS,
    )
    label = f"{kind}{', +E' if use_entities else ''}"
    where = f"{threads()}, 53 relations"
    reason = "; with +E every bag has its own gradient per relation, a [B, R, D] tensor" if use_entities else ""
    return [
        ratio(
            f"predict and explain vs. predict, {label}",
            seconds["both"],
            seconds["predict"],
            "s",
            at_most(PREDICTION_BUDGET),
            f"{where}; four scores per sentence and relation, {NUM_SENTENCES:,} sentences{reason}",
        ),
        ratio(
            f"explain vs. autograd loops, {label}",
            seconds["held"],
            seconds["plain"],
            "s",
            at_most(AUTOGRAD_BUDGET),
            f"{where}, {NUM_PLAIN} sentences, from precomputed vectors; scores agree",
        ),
    ]


if __name__ == "__main__":
    record([row for kind in ("attention", "direct") for use in (False, True) for row in measure(kind, use)])
