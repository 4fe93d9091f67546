"""The paper: its variants, the settings of each, and the values it reports, which are printed next to ours."""

import difflib
from collections.abc import Iterable
from dataclasses import replace

from sayso.config import apply_changes
from sayso.errors import BadConfigError, UserError, option
from sayso.train.config import RunConfig, config_of

SOURCE = "Shahbazi, Fern, Ghaeini and Tadepalli, Relation Extraction with Explanation, ACL 2020"
DATA = "FB-NYT, the 522,611-sentence release"

NINE = (
    "CNNs+ATT",
    "DirectSup",
    "CNNs+ATT+F",
    "DirectSup+F",
    "CNNs+ATT+FE",
    "DirectSup+FE",
    "CNNs+ATT+LD",
    "CNNs+ATT+F+LD",
    "DirectSup+F+LD",
)
"""The rows of the paper's tables, in its order."""

ENTITIES = "+E"
VARIANTS = (*NINE, *(name + ENTITIES for name in NINE))

COUNTS = {
    "train": {"sentences": 472_963, "positive": 16_625, "negative": 236_811},
    "test": {"sentences": 172_448, "positive": 1_950, "negative": 94_917},
}
"""Table 1. By our count, training sizes are 90 % of the release, test positives are facts, negatives are pairs."""

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
"""Table 2: AUC up to recall 0.4, times 100; None where it prints a dash."""

MECHANISMS = {"leave_one_out": "loo", "saliency": "S", "gradient_x_input": "GI", "attention": "α"}
"""The mechanisms of Table 3, in its order, with the paper's names for them."""

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

_VARIANTS = option("variants", "--variants")
_KINDS = {"CNNs+ATT": "attention", "DirectSup": "direct"}
_MENTIONS = {"F": "type", "FE": "type_and_words"}


def base_of(variant: str) -> str:
    """Return the base model of a variant.

    >>> base_of("CNNs+ATT+F+LD+E")
    'CNNs+ATT'
    """
    return next(base for base in _KINDS if variant.startswith(base))


def features_of(variant: str) -> tuple[str, ...]:
    """Return the features that a variant adds to its base model.

    >>> features_of("CNNs+ATT+F+LD+E")
    ('F', 'LD', 'E')
    """
    return tuple(variant.removeprefix(base_of(variant)).split("+")[1:])


def variant_config(variant: str, changes: Iterable[str] = ()) -> RunConfig:
    """Return the settings of a variant, with overrides written `a.b=c`."""
    features = features_of(variant)
    table = {
        "data": {"mentions": next((_MENTIONS[name] for name in features if name in _MENTIONS), "words")},
        "model": {"aggregator": {"kind": _KINDS[base_of(variant)]}, "use_entities": "E" in features},
        "loss": {"distractor": 1.0 if "LD" in features else 0.0},
        # The paper ranks the facts of all relations together by raw probabilities.
        "train": {"calibration": "none"},
    }
    plain = config_of(table)
    changed = config_of(apply_changes(plain.to_table(), changes))
    # Any variant may use a different encoder; any other change of its name would mislabel a row of the tables.
    named = replace(changed, model=replace(changed.model, encoder=plain.model.encoder)).variant
    if named != variant:
        raise BadConfigError(
            f"{option('changes', '--set')}: this turns {variant} into {named}; choose variants with {_VARIANTS}"
        )
    return changed


def variants_named(names: Iterable[str]) -> tuple[str, ...]:
    """Return the variants with these names in the paper's order; all if no names are given."""
    wanted = list(names)
    for name in wanted:
        if name not in VARIANTS:
            near = difflib.get_close_matches(name, VARIANTS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"choose from {', '.join(VARIANTS)}"
            raise UserError(f"{_VARIANTS} {name}: no such variant; {hint}")
    return tuple(name for name in VARIANTS if not wanted or name in wanted)


def tau_of(variant: str, mechanism: str, band: str) -> float | None:
    """Return Kendall τ from Table 3; None with +E, because the paper does not say whether its table includes +E.

    >>> tau_of("DirectSup+F+LD", "attention", "H")
    0.45
    """
    if variant not in _TAUS or (mechanism, band) not in _COLUMNS:
        return None
    return _TAUS[variant][_COLUMNS.index((mechanism, band))]
