"""What a run leaves for others: its best model, with all that is needed to use it without the store."""

from typing import Any

from sayso.errors import BadInputError
from sayso.features.lexicon import Lexicon
from sayso.model.checkpoint import ModelParts
from sayso.model.extractor import Extractor
from sayso.store.direct import CorpusForm
from sayso.train.data import RunData
from sayso.train.state import Standing


def model_of(extractor: Extractor, data: RunData, standing: Standing) -> ModelParts:
    """Return the extractor together with what the store knows by name and where it all comes from."""
    return ModelParts(
        extractor=extractor,
        lexicon=lexicon_of(data),
        relations=data.store.relations,
        variant=data.config.variant,
        training=_training(data, standing),
    )


def lexicon_of(data: RunData) -> Lexicon:
    """Return the words that have a vector in this run, and the store's entities and types."""
    store = data.store
    if "form" not in store.manifest:
        raise BadInputError(f"{store.folder}: the store does not say how its corpus writes: prepare it again")
    return Lexicon(
        words=store.words[: len(data.word_VW)].to_pylist(),
        entity_ids=store.entities["id"].to_pylist(),
        entity_names=store.entities["name"].to_pylist(),
        type_E=data.type_E,
        types=store.types,
        form=CorpusForm(**store.manifest["form"]),
        mentions=data.config.data.mentions,
        max_tokens=int(store.manifest["settings"]["max_tokens"]),
    )


def _training(data: RunData, standing: Standing) -> dict[str, Any]:
    return {
        "seed": data.config.seed,
        "data_fingerprint": data.store.fingerprint,
        "epochs": standing.epoch,
        "best_epoch": standing.best_epoch,
        "seconds": round(standing.seconds, 1),
        "validation": {
            "area_up_to_recall_0.4": standing.best_area,
            "average_precision": standing.best_average_precision,
        },
        "config": data.config.to_table(),
    }
