"""A model as a folder: settings, weights and vocabulary in open forms, a page about it, nothing pickled."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from sayso import __version__
from sayso.atomic import atomic_folder, refuse_foreign, restore
from sayso.bags.columns import Column, read_columns, to_numpy, write_columns
from sayso.bags.direct import CorpusForm
from sayso.config import fill, to_table
from sayso.errors import BadConfigError, BadInputError, UserError
from sayso.features.lexicon import Lexicon
from sayso.model.card import model_card
from sayso.model.extractor import Extractor, ModelConfig, ModelTables
from sayso.model.kinds import KINDS
from sayso.model.size import refuse_too_large
from sayso.records import Relation

FORMAT = 1
FILES = CONFIG, WEIGHTS, WORDS, ENTITIES, CARD = (
    "config.json",
    "model.safetensors",
    "words.arrow",
    "entities.arrow",
    "README.md",
)
IN_RUN = "model"
"""Where a run keeps its model."""


@dataclass(frozen=True, kw_only=True)
class ModelParts:
    """All that a model folder holds: the extractor with its frozen vectors, what it knows by name, its relations.

    `training` says where it comes from: seed, data fingerprint, epochs, validation figures.
    """

    extractor: Extractor
    lexicon: Lexicon
    relations: Sequence[Relation]
    variant: str
    training: dict[str, Any]


def save_model(folder: Path, parts: ModelParts, overwrite: bool = False) -> None:
    """Write the model, whole or not at all.

    A folder that holds something is a `UserError`, unless it may be overwritten and holds nothing but a model.
    """
    if overwrite:
        refuse_foreign(folder, FILES.__contains__, "a model")
    lexicon = parts.lexicon
    tensors = {name: value.detach().cpu().contiguous() for name, value in parts.extractor.state_dict().items()}
    with atomic_folder(folder, overwrite=overwrite) as work:
        (work / CONFIG).write_text(json.dumps(_settings(parts), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        # Through bytes: safetensors' own writer makes files that nobody but their owner can read.
        (work / WEIGHTS).write_bytes(save(tensors, {"format": "pt"}))
        write_columns(work / WORDS, {"word": lexicon.words})
        columns: dict[str, Column] = {
            "id": lexicon.entity_ids,
            "name": lexicon.entity_names,
            "type": lexicon.type_E.astype(np.int32),
        }
        write_columns(work / ENTITIES, columns)
        names = [relation.name for relation in parts.relations]
        (work / CARD).write_text(model_card(parts.variant, names, parts.training), encoding="utf-8")


def _settings(parts: ModelParts) -> dict[str, Any]:
    lexicon = parts.lexicon
    return {
        "format": FORMAT,
        "sayso": __version__,
        "variant": parts.variant,
        "mentions": lexicon.mentions,
        "model": to_table(parts.extractor.config, KINDS),
        "relations": [relation._asdict() for relation in parts.relations],
        "types": lexicon.types,
        "form": asdict(lexicon.form),
        "max_tokens": lexicon.max_tokens,
        "training": parts.training,
    }


def find_model(folder: Path) -> Path:
    """Return the folder that holds the model: this one, or for a run's folder the one in it."""
    for place in (folder, folder / IN_RUN):
        restore(place)
    if (folder / CONFIG).is_file():
        return folder
    if (folder / IN_RUN / CONFIG).is_file():
        return folder / IN_RUN
    if (folder / "run.json").is_file():
        raise UserError(f"{folder}: the run is not finished: go on with `sayso train --resume`")
    if seeds := sorted(path.parent.name for path in folder.glob("seed-*/run.json")):
        raise UserError(f"{folder}: runs of several seeds: name one of them, {', '.join(seeds)}")
    raise BadInputError(f"{folder}: neither a model nor a run: there is no {CONFIG} in it")


def load_model(folder: Path) -> ModelParts:
    """Return the model of a model's or a run's folder, ready to predict on the CPU.

    What is missing, cut short, foreign or of another version is a `BadInputError`.
    """
    folder = find_model(folder)
    settings = _read_settings(folder / CONFIG)
    try:
        return _load(folder, settings)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadInputError(f"{folder / CONFIG}: not the settings of a model, or damaged ({error!r})") from error


def _load(folder: Path, settings: dict[str, Any]) -> ModelParts:
    relations = [Relation(**entry) for entry in settings["relations"]]
    lexicon = _read_lexicon(folder, settings)
    try:
        config = fill(ModelConfig, settings["model"], KINDS, "model.")
    except BadConfigError as error:
        raise BadInputError(f"{folder / CONFIG}: {error}") from None
    return ModelParts(
        extractor=_read_extractor(folder / WEIGHTS, config, lexicon, len(relations)),
        lexicon=lexicon,
        relations=relations,
        variant=str(settings["variant"]),
        training=dict(settings["training"]),
    )


def _read_settings(path: Path) -> dict[str, Any]:
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise BadInputError(f"{path}: not the settings of a model, or cut short ({error})") from error
    found = settings.get("format") if isinstance(settings, dict) else None
    if found != FORMAT:
        raise BadInputError(
            f"{path}: model of format {found}, this version of sayso ({__version__}) reads {FORMAT}: train it anew, or"
            " use the version that wrote it"
        )
    return dict(settings)


def _read_lexicon(folder: Path, settings: dict[str, Any]) -> Lexicon:
    words = _read_names(folder / WORDS, "word")
    entities = _read_names(folder / ENTITIES, "id", "name", "type")
    lexicon = Lexicon(
        words=words["word"].to_pylist(),
        entity_ids=entities["id"].to_pylist(),
        entity_names=entities["name"].to_pylist(),
        type_E=np.asarray(to_numpy(entities["type"])),
        types=[str(name) for name in settings["types"]],
        form=CorpusForm(**settings["form"]),
        mentions=settings["mentions"],
        max_tokens=int(settings["max_tokens"]),
    )
    if len(lexicon.type_E) and not 0 <= lexicon.type_E.min() <= lexicon.type_E.max() < len(lexicon.types):
        raise BadInputError(f"{folder / ENTITIES}: types that {CONFIG} does not name: the files are of two models")
    return lexicon


def _read_names(path: Path, *wanted: str) -> dict[str, Any]:
    try:
        columns = read_columns(path)
    except BadInputError as error:
        raise BadInputError(f"{path}: not a part of a model, or cut short") from error
    if missing := [name for name in wanted if name not in columns]:
        raise BadInputError(f"{path}: not a part of a model: there is no column {missing[0]}")
    return columns


def _read_extractor(path: Path, config: ModelConfig, lexicon: Lexicon, num_relations: int) -> Extractor:
    """Return the extractor with the file's weights, which must have the shapes that the other files ask for."""
    try:
        tensors: dict[str, Tensor] = load_file(path)
    except (OSError, SafetensorError) as error:
        raise BadInputError(f"{path}: not the weights of a model, or cut short ({error})") from error
    word_VW, entity_EV = tensors.get("embedding.word_VW"), tensors.get("scorer.entity.entity_EV")
    if word_VW is None or len(word_VW) != len(lexicon.words):
        raise BadInputError(f"{path}: not one vector for each of the {len(lexicon.words):,} words of {WORDS}")
    if entity_EV is not None and len(entity_EV) != 1 + len(lexicon.entity_ids):
        raise BadInputError(
            f"{path}: not one vector for each of the {len(lexicon.entity_ids):,} entities of {ENTITIES}"
        )
    num_types = 0 if lexicon.mentions == "words" else len(lexicon.types)
    tables = ModelTables(word_VW=word_VW, num_types=num_types, num_relations=num_relations, entity_EV=entity_EV)
    refuse_too_large(config, tables)
    extractor = Extractor(config, tables, seed=0)
    _refuse_misfits(path, tensors, extractor.state_dict())
    extractor.load_state_dict(tensors)
    return extractor.eval()


def _refuse_misfits(path: Path, found: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    for name in sorted(found.keys() | expected.keys()):
        shapes = [tuple(tensors[name].shape) if name in tensors else None for tensors in (found, expected)]
        if shapes[0] != shapes[1]:
            raise BadInputError(
                f"{path}: tensor {name} is {shapes[0] or 'missing'} where {CONFIG} asks for {shapes[1] or 'none'}"
            )
