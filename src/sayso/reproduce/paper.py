"""What the paper reports: facts to print beside ours, never to be passed off as ours."""

from sayso.reproduce.variant import ENTITIES, NINE

SOURCE = "Shahbazi, Fern, Ghaeini and Tadepalli, Relation Extraction with Explanation, ACL 2020"
DATA = "FB-NYT, the 522,611-sentence release"

COUNTS = {
    "train": {"sentences": 472_963, "positive": 16_625, "negative": 236_811},
    "test": {"sentences": 172_448, "positive": 1_950, "negative": 94_917},
}
"""Its Table 1. By counting: the training figures are 90 % of the release, test positives are facts, negatives pairs."""

_AREAS = {
    "CNNs+ATT": (25.1, None),
    "DirectSup": (26.4, 28.1),
    "CNNs+ATT+F": (26.1, 31.5),
    "DirectSup+F": (26.9, 33.3),
    "CNNs+ATT+FE": (27.4, 33.1),
    "DirectSup+FE": (27.6, 33.4),
    "CNNs+ATT+LD": (27.1, 33.6),
    "CNNs+ATT+F+LD": (27.7, 33.9),
    "DirectSup+F+LD": (27.8, 34.1),
}

AREAS: dict[str, float | None] = {
    **{name: _AREAS[name][0] for name in NINE},
    **{name + ENTITIES: _AREAS[name][1] for name in NINE},
}
"""Its Table 2: AUC up to recall 0.4, times 100; None where it prints a dash."""

MECHANISMS = {"leave_one_out": "loo", "saliency": "S", "gradient_x_input": "GI", "attention": "α"}
"""The mechanisms of its Table 3, in its order, and what it calls them."""

_TAUS = {
    "CNNs+ATT": (0.16, -0.08, 0.19, -0.02, 0.20, 0.04, 0.69, 0.21),
    "DirectSup": (0.19, 0.12, 0.08, 0.15, 0.29, 0.19, 0.26, -0.12),
    "CNNs+ATT+F": (0.21, 0.10, 0.36, 0.03, 0.23, 0.00, 0.73, 0.11),
    "DirectSup+F": (0.24, 0.15, 0.31, -0.19, 0.40, -0.17, 0.28, 0.15),
    "CNNs+ATT+FE": (0.01, -0.11, 0.21, -0.14, 0.20, -0.20, 0.24, 0.01),
    "DirectSup+FE": (0.14, -0.12, 0.19, -0.10, 0.29, 0.06, 0.17, -0.11),
    "CNNs+ATT+LD": (0.18, -0.01, 0.22, 0.10, 0.21, 0.00, 0.67, 0.11),
    "CNNs+ATT+F+LD": (0.22, -0.11, 0.43, 0.09, 0.28, 0.07, 0.70, 0.12),
    "DirectSup+F+LD": (0.23, 0.14, 0.38, 0.01, 0.49, 0.20, 0.45, 0.02),
}

_COLUMNS = [(mechanism, band) for mechanism in MECHANISMS for band in ("H", "L")]


def tau_of(variant: str, mechanism: str, band: str) -> float | None:
    """Return its Table 3's Kendall τ; the paper does not say whether with +E, so only variants without it have one.

    >>> tau_of("DirectSup+F+LD", "attention", "H")
    0.45
    """
    if variant not in _TAUS or (mechanism, band) not in _COLUMNS:
        return None
    return _TAUS[variant][_COLUMNS.index((mechanism, band))]
