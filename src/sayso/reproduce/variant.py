"""The paper's variants by name: the settings of each, and what each needs of a store."""

import difflib
from collections.abc import Iterable
from dataclasses import replace

from sayso.config import apply_changes
from sayso.errors import BadConfigError, UserError, option
from sayso.store.store import Store
from sayso.train.config import RunConfig, config_of

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

_VARIANTS = option("variants", "--variants")
_KINDS = {"CNNs+ATT": "attention", "DirectSup": "direct"}
_MENTIONS = {"F": "type", "FE": "type_and_words"}


def base_of(variant: str) -> str:
    """Return the model that a variant changes.

    >>> base_of("CNNs+ATT+F+LD+E")
    'CNNs+ATT'
    """
    return next(base for base in _KINDS if variant.startswith(base))


def features_of(variant: str) -> tuple[str, ...]:
    """Return what a variant adds to its base.

    >>> features_of("CNNs+ATT+F+LD+E")
    ('F', 'LD', 'E')
    """
    return tuple(variant.removeprefix(base_of(variant)).split("+")[1:])


def variant_config(variant: str, changes: Iterable[str] = ()) -> RunConfig:
    """Return the settings of a variant: those of the config of its name, with changes written `a.b=c`."""
    features = features_of(variant)
    table = {
        "data": {"mentions": next((_MENTIONS[name] for name in features if name in _MENTIONS), "words")},
        "model": {"aggregator": {"kind": _KINDS[base_of(variant)]}, "use_entities": "E" in features},
        "loss": {"distractor": 1.0 if "LD" in features else 0.0},
    }
    plain = config_of(table)
    changed = config_of(apply_changes(plain.to_table(), changes))
    # Another encoder is a setting of every variant; all else that has a name in the tables is not.
    named = replace(changed, model=replace(changed.model, encoder=plain.model.encoder)).variant
    if named != variant:
        raise BadConfigError(
            f"{option('changes', '--set')}: this makes {variant} into {named}; choose variants with {_VARIANTS}"
        )
    return changed


def variants_named(names: Iterable[str]) -> tuple[str, ...]:
    """Return the variants of these names in the paper's order, all where none are given."""
    wanted = list(names)
    for name in wanted:
        if name not in VARIANTS:
            near = difflib.get_close_matches(name, VARIANTS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"choose from {', '.join(VARIANTS)}"
            raise UserError(f"{_VARIANTS} {name}: no such variant; {hint}")
    return tuple(name for name in VARIANTS if not wanted or name in wanted)


def lack_of(store: Store, config: RunConfig) -> str:
    """Return all that the store lacks for these settings and how to repair it, nothing where it lacks nothing."""
    lacks, vectors = [], store.manifest.get("entity_vectors", {})
    if config.needs_types and len(store.types) < 2:
        lacks.append("no entity types (prepare it with --types)")
    if config.model.use_entities and not (vectors.get("name_width") or vectors.get("graph_width")):
        lacks.append("no entity vectors (prepare it with --entity-vectors or --vectors)")
    if config.needs_direct and not store.manifest["parts"].get("direct", {}).get("sentences"):
        lacks.append("no directly supervised sentences (prepare it with --direct)")
    return f"the store has {' and '.join(lacks)}" if lacks else ""
