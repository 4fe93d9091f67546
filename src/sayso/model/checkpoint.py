"""Save and load a model as a folder: settings, weights, vocabulary and a model card, in open formats, no pickle."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from sayso import __version__
from sayso.config import fill, to_table
from sayso.errors import BadConfigError, BadInputError, UserError
from sayso.features.lexicon import Lexicon
from sayso.features.mentions import Appearance
from sayso.features.subwords import SpecialIds, Subwords, SubwordTokenizer
from sayso.io.atomic import atomic_folder, refuse_foreign, restore
from sayso.io.checksum import FILES as SUMS
from sayso.io.checksum import CheckedFiles, is_verifying, sums_of
from sayso.io.folder import wrong_folder
from sayso.io.json_file import JsonError, checked_files, read_object, record_of, to_json
from sayso.model.calibration import Calibration, CalibrationTable
from sayso.model.card import model_card
from sayso.model.encoders.base import Encoder, ModelTables
from sayso.model.encoders.transformer import TransformerEncoder
from sayso.model.extractor import KINDS, Extractor, ModelConfig, refuse_too_large
from sayso.model.pretrained import Pretrained
from sayso.records import Relation
from sayso.store.columns import Column, is_finite, is_within, read_columns, to_numpy, write_columns
from sayso.store.direct import CorpusForm
from sayso.store.rows import Rows

FORMAT = 1
FILES = CONFIG, WEIGHTS, WORDS, ENTITIES, CARD, TOKENIZER, SUBWORDS = (
    "config.json",
    "model.safetensors",
    "words.arrow",
    "entities.arrow",
    "README.md",
    "tokenizer.json",
    "subwords.arrow",
)
"""The last two belong to a pretrained encoder."""
IN_RUN = "model"
"""The model's folder within a run folder."""
_ADVICE = "train it again (for a finished run, `sayso train --resume` writes the model again)"


class PretrainedDescription(NamedTuple):
    """A pretrained encoder's architecture, as `transformers` describes it, special tokens and training precision."""

    architecture: dict[str, Any]
    special: SpecialIds
    precision: str = "float32"


@dataclass(frozen=True, kw_only=True)
class ModelDescription:
    """The contents of `config.json`: how sentences and mentions are read, the model's settings, how it was trained.

    `calibration` is missing in models that are not calibrated.
    """

    format: int
    sayso: str
    variant: str
    mentions: Appearance
    model: dict[str, Any]
    relations: list[Relation]
    types: list[str]
    form: CorpusForm
    max_tokens: int
    training: dict[str, Any]
    calibration: CalibrationTable | None = None
    pretrained: PretrainedDescription | None = None


@dataclass(frozen=True, kw_only=True)
class ModelParts:
    """The contents of a model folder: the extractor with its frozen vectors, its vocabulary, its relations.

    `training` contains the seed, data fingerprint, epochs and validation metrics; `members` are the models of an
    ensemble (`ensemble.py`), by the names of their folders.
    """

    extractor: Extractor
    lexicon: Lexicon
    relations: Sequence[Relation]
    variant: str
    training: dict[str, Any]
    members: "Mapping[str, ModelParts]" = field(default_factory=dict)


def save_model(folder: Path, parts: ModelParts, overwrite: bool = False) -> None:
    """Write the model atomically.

    Raises `UserError` if the folder is not empty, unless `overwrite` is set and it contains only a model.
    """
    if overwrite:
        refuse_foreign(folder, FILES.__contains__, "a model")
    with atomic_folder(folder, overwrite=overwrite) as work:
        write_files(work, parts)


def write_files(folder: Path, parts: ModelParts) -> None:
    """Write the files of a model to an existing folder."""
    lexicon = parts.lexicon
    tensors = {name: value.detach().cpu().contiguous() for name, value in parts.extractor.state_dict().items()}
    # safetensors' own writer creates files that only their owner can read.
    (folder / WEIGHTS).write_bytes(save(tensors, {"format": "pt"}))
    write_columns(folder / WORDS, {"word": lexicon.words})
    columns: dict[str, Column] = {
        "id": lexicon.entity_ids,
        "name": lexicon.entity_names,
        "type": lexicon.type_E.astype(np.int32),
    }
    write_columns(folder / ENTITIES, columns)
    relations = [relation.name for relation in parts.relations]
    card = model_card(parts.variant, relations, parts.training, parts.extractor.calibration is not None)
    (folder / CARD).write_text(card, encoding="utf-8")
    names = [WEIGHTS, WORDS, ENTITIES]
    if lexicon.subwords:
        (folder / TOKENIZER).write_text(lexicon.subwords.tokenizer.text, encoding="utf-8")
        write_columns(folder / SUBWORDS, {"id": lexicon.subwords.kept})
        names += [TOKENIZER, SUBWORDS]
    settings = _settings(parts) | {SUMS: sums_of(folder, names)}
    (folder / CONFIG).write_text(to_json(settings, indent=2) + "\n", encoding="utf-8")


def _settings(parts: ModelParts) -> dict[str, Any]:
    lexicon, calibration = parts.lexicon, parts.extractor.calibration
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
        **({} if calibration is None else {"calibration": calibration.to_table()}),
        **_pretrained_settings(parts.extractor.encoder),
    }


def _pretrained_settings(encoder: Encoder) -> dict[str, Any]:
    if not isinstance(encoder, TransformerEncoder):
        return {}
    pretrained, special = encoder.pretrained, encoder.pretrained.subwords.tokenizer.special
    found = PretrainedDescription(pretrained.architecture, special, encoder.precision)
    return {"pretrained": found._asdict() | {"special": special._asdict()}}


def find_model(folder: Path) -> Path:
    """Return the model's folder: this one, or the one inside a run folder."""
    for place in (folder, folder / IN_RUN):
        restore(place)
    if (folder / CONFIG).is_file():
        return folder
    if (folder / IN_RUN / CONFIG).is_file():
        return folder / IN_RUN
    if (folder / "run.json").is_file():
        raise UserError(f"{folder}: the run is not finished: continue it with `sayso train --resume`")
    raise wrong_folder(folder, "run", f"it contains no {CONFIG}")


def load_model(folder: Path) -> ModelParts:
    """Load a model from its folder or a run folder, on the CPU.

    Raises `BadInputError` if a file is missing, damaged, not part of a model, or written by an incompatible version.
    """
    folder = find_model(folder)
    settings, files = read_settings(folder)
    lexicon = _read_lexicon(files, settings)
    try:
        config = fill(ModelConfig, settings.model, KINDS, "model.")
    except BadConfigError as error:
        raise BadInputError(f"{folder / CONFIG}: {error}") from None
    extractor = _read_extractor(files, config, lexicon, settings)
    if settings.calibration is not None:
        try:
            extractor.calibration = Calibration.from_table(settings.calibration, len(settings.relations))
        except BadInputError as error:
            raise BadInputError(f"{folder / CONFIG}: {error}: {_ADVICE}") from None
    return ModelParts(
        extractor=extractor,
        lexicon=lexicon,
        relations=settings.relations,
        variant=settings.variant,
        training=settings.training,
    )


def read_settings(folder: Path) -> tuple[ModelDescription, CheckedFiles]:
    """Return the settings in a model folder, and its other files."""
    path = folder / CONFIG
    found = read_object(path, "model config", _ADVICE)
    if found.get("format") != FORMAT:
        raise BadInputError(
            f"{path}: model format {found.get('format')}, but this version of sayso ({__version__}) reads {FORMAT}:"
            " train it again, or use the version that wrote it"
        )
    try:
        settings = record_of(ModelDescription, found, is_open=True)
    except JsonError as error:
        raise BadInputError(f"{path}: not a valid model config ({error}): {_ADVICE}") from None
    if settings.max_tokens < 1 or not settings.relations:
        raise BadInputError(f"{path}: invalid model settings: no tokens or no relations: {_ADVICE}")
    return settings, checked_files(path, found, _ADVICE)


def _read_lexicon(files: CheckedFiles, settings: ModelDescription) -> Lexicon:
    entities = read_columns(files, ENTITIES, "id", "name", "type")
    words = read_columns(files, WORDS, "word")["word"].to_pylist()
    lexicon = Lexicon(
        words=words,
        entity_ids=entities["id"].to_pylist(),
        entity_names=entities["name"].to_pylist(),
        type_E=np.asarray(to_numpy(entities["type"])),
        types=settings.types,
        form=settings.form,
        mentions=settings.mentions,
        max_tokens=settings.max_tokens,
        subwords=_read_subwords(files, settings, words) if settings.pretrained else None,
    )
    if not is_within(lexicon.type_E, 0, len(lexicon.types)):
        raise BadInputError(
            f"{files.folder / ENTITIES}: some types are not in {CONFIG}: the files belong to different models"
        )
    return lexicon


def _read_subwords(files: CheckedFiles, settings: ModelDescription, words: list[str]) -> Subwords:
    assert settings.pretrained is not None
    rows = to_numpy(read_columns(files, SUBWORDS, "id")["id"])
    if not isinstance(rows, Rows) or len(rows) != len(words) + len(settings.types):
        raise BadInputError(f"{files.folder / SUBWORDS}: not the subwords of the words in {WORDS}: {_ADVICE}")
    text = files.read(TOKENIZER).decode("utf-8", "replace")
    return Subwords(SubwordTokenizer(text=text, special=settings.pretrained.special), words, settings.types, rows)


def _read_extractor(
    files: CheckedFiles, config: ModelConfig, lexicon: Lexicon, settings: ModelDescription
) -> Extractor:
    """Return the extractor with the file's weights, whose shapes must match the other files."""
    path = files.folder / WEIGHTS
    try:
        tensors: dict[str, Tensor] = load_file(files.path(WEIGHTS))
    except (OSError, SafetensorError) as error:
        raise BadInputError(f"{path}: not valid model weights ({error}): {_ADVICE}") from error
    word_VW, entity_EV = tensors.get("embedding.word_VW"), tensors.get("scorer.entity.entity_EV")
    if word_VW is None or len(word_VW) != len(lexicon.words):
        raise BadInputError(
            f"{path}: the number of word vectors does not match the {len(lexicon.words):,} words in {WORDS}"
        )
    if entity_EV is not None and len(entity_EV) != 1 + len(lexicon.entity_ids):
        raise BadInputError(
            f"{path}: the number of entity vectors does not match the {len(lexicon.entity_ids):,} entities in"
            f" {ENTITIES}"
        )
    num_types = 0 if lexicon.mentions == "words" else len(lexicon.types)
    tables = ModelTables(
        word_VW=word_VW,
        num_types=num_types,
        num_relations=len(settings.relations),
        entity_EV=entity_EV,
        pretrained=_read_pretrained(settings, lexicon),
    )
    refuse_too_large(config, tables)
    extractor = Extractor(config, tables, seed=0)
    _refuse_misfits(path, tensors, extractor.state_dict())
    extractor.load_state_dict(tensors)
    if settings.pretrained is not None:
        extractor.encoder.precision = settings.pretrained.precision
    return extractor.eval()


def _read_pretrained(settings: ModelDescription, lexicon: Lexicon) -> Pretrained | None:
    given, subwords = settings.pretrained, lexicon.subwords
    return Pretrained(architecture=given.architecture, subwords=subwords) if given and subwords else None


def _refuse_misfits(path: Path, found: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    for name in sorted(found.keys() | expected.keys()):
        shapes = [tuple(tensors[name].shape) if name in tensors else None for tensors in (found, expected)]
        if shapes[0] != shapes[1]:
            raise BadInputError(
                f"{path}: tensor {name}: {CONFIG} expects {shapes[1] or 'no such tensor'}, got {shapes[0] or 'nothing'}"
            )
        if found[name].dtype != expected[name].dtype:
            raise BadInputError(
                f"{path}: tensor {name}: expected {expected[name].dtype}, got {found[name].dtype}: {_ADVICE}"
            )
        if is_verifying() and found[name].is_floating_point() and not is_finite(found[name].numpy()):
            raise BadInputError(f"{path}: tensor {name} contains a value that is not finite: {_ADVICE}")
