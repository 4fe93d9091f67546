"""The calibration of a trained model, fitted on its validation pairs.

Shapes: B bags, R relations.
"""

import numpy as np

from sayso.model.calibration import Calibration, calibrated_on
from sayso.model.extractor import Extractor
from sayso.model.predict import predict_logits
from sayso.store.table import BagTable
from sayso.train.data import RunData


def calibration_of(extractor: Extractor, data: RunData) -> Calibration | None:
    """Fit the configured calibration on the validation part; None if it is off.

    A model that is trained on all facts is calibrated by the folds (`folds.py`).
    """
    if data.config.train.calibration == "none" or data.refit:
        return None
    part = data.validation
    label_BR = part.label_rows(np.arange(part.table.num_bags)).numpy()
    weight_B = corpus_weights(part.table, data.store.na_share("validation"))
    fitted = calibrated_on(predict_logits(extractor, part), label_BR, weight_B, "validation")
    return fitted.to(extractor.scorer.bias_R.device)


def corpus_weights(table: BagTable, na_share: float) -> np.ndarray:
    """Return how many pairs of the whole corpus each bag stands for, if only a fraction of the NA pairs was kept."""
    return np.where(table.is_positive_B, 1.0, 1.0 / na_share)
