"""The page of a store that says what is in it and from what it was made."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from sayso import __version__
from sayso.records import Relation
from sayso.store.entity_type import EntityTypes
from sayso.store.inputs import PrepareSettings
from sayso.store.table import BagTable

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class StoreManifest:
    """What every reader of a store relies on; the manifest says more, for people."""

    format: int
    fingerprint: str
    parts: dict[str, dict[str, int]]
    settings: dict[str, Any] = field(default_factory=dict)
    inputs: dict[str, Any] = field(default_factory=dict)
    read: dict[str, dict[str, Any]] = field(default_factory=dict)
    words: dict[str, Any] = field(default_factory=dict)
    relations: dict[str, int] = field(default_factory=dict)
    entities: dict[str, int] = field(default_factory=dict)
    marks: dict[str, Any] = field(default_factory=dict)
    entity_vectors: dict[str, Any] = field(default_factory=dict)
    leakage: dict[str, Any] = field(default_factory=dict)


def make_manifest(
    settings: PrepareSettings,
    inputs: dict[str, dict[str, Any]],
    parts: dict[str, BagTable],
    types: EntityTypes,
    relations: Sequence[Relation],
    reports: dict[str, Any],
) -> dict[str, Any]:
    """Return the manifest; its fingerprint names the inputs' content and the settings, not where the files lie."""
    identity = {
        "format": FORMAT,
        "settings": asdict(settings),
        "inputs": {name: entry["sha256"] for name, entry in inputs.items()},
    }
    num_bags_R = np.bincount(parts["train"].relations.value, minlength=len(relations))
    return {
        "format": FORMAT,
        "sayso": __version__,
        "fingerprint": hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16],
        "settings": asdict(settings),
        "inputs": inputs,
        "parts": {name: _part(table) for name, table in parts.items()},
        "relations": {"num": len(relations), "num_without_training_bag": int((num_bags_R == 0).sum())},
        "entities": {"num": len(types.type_E), "num_types": len(types.names), "num_without_type": types.num_other},
        **reports,
    }


def _part(table: BagTable) -> dict[str, int]:
    return {
        "sentences": table.num_sentences,
        "bags": table.num_bags,
        "positive_bags": int(table.is_positive_B.sum()),
        "facts": len(table.relations.value),
        "largest_bag": int(table.size_B.max(initial=0)),
    }
