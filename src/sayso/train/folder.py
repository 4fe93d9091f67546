"""A run's folder: its settings, metrics and best model, which can be used without the store."""

import hashlib
import importlib.util
import json
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sayso import __version__
from sayso.config import to_toml
from sayso.errors import BadInputError, UserError, option
from sayso.features.lexicon import Lexicon
from sayso.io.atomic import atomic_file, refuse_foreign
from sayso.io.folder import make_folder
from sayso.io.json_file import JsonError, from_json, to_json
from sayso.model.checkpoint import ModelParts
from sayso.model.extractor import Extractor
from sayso.store.direct import CorpusForm
from sayso.train.config import RunConfig
from sayso.train.data import RunData
from sayso.train.state import RunStatus

CONFIG, DESCRIPTION, METRICS, STATE, MODEL = "config.toml", "run.json", "metrics.jsonl", "state.safetensors", "model"
BOARD, FOLDS, LOGITS = "tensorboard", "folds", "logits"


class RunFolder:
    """Writes a run's files; only the first of several processes writes."""

    def __init__(self, path: Path, is_writer: bool) -> None:
        self.path = path
        self.is_writer = is_writer
        self._board: Any = None

    @property
    def state(self) -> Path:
        """The file from which the run resumes."""
        return self.path / STATE

    def refuse_other_run(self, resume: bool) -> None:
        """Raise `UserError` if the folder contains a run that is not being resumed, or anything else."""
        if self.path.exists() and not self.path.is_dir():
            raise UserError(f"{self.path}: this is a file; choose another folder")
        if self.state.exists() and not resume:
            raise UserError(
                f"{self.path}: the folder already contains a run: continue it with"
                f" {option('resume=True', '--resume')}, or choose another folder"
            )
        if not self.state.exists():
            # A run that is killed in its first epoch leaves these.
            begun = {CONFIG, DESCRIPTION, METRICS, BOARD, FOLDS, LOGITS}
            refuse_foreign(self.path, lambda name: name in begun or name.startswith("."), "an unfinished run")

    def begin(self, config: RunConfig, description: dict[str, Any], epoch: int) -> None:
        """Write settings and description before the first batch; `epoch` epochs are already done."""
        if not self.is_writer:
            return
        make_folder(self.path)
        if epoch == 0:
            (self.path / METRICS).unlink(missing_ok=True)
        with atomic_file(self.path / CONFIG) as file:
            file.write(to_toml(config.to_table()))
        with atomic_file(self.path / DESCRIPTION) as file:
            file.write(json.dumps(description, indent=2, ensure_ascii=False) + "\n")
        if importlib.util.find_spec("tensorboard"):
            from torch.utils.tensorboard import SummaryWriter

            self._board = SummaryWriter(str(self.path / BOARD), purge_step=epoch + 1)

    def note(self, row: dict[str, Any]) -> None:
        """Add one epoch's metrics, replacing those of an earlier attempt."""
        if not self.is_writer:
            return
        kept = [earlier for earlier in read_metrics(self.path) if earlier["epoch"] < row["epoch"]]
        with atomic_file(self.path / METRICS) as file:
            file.writelines(to_json(each) + "\n" for each in (*kept, row))
        if self._board is not None:
            for name, value in row.items():
                self._board.add_scalar(name, value, row["epoch"])
            self._board.flush()

    def keep_logits(self, epoch: int, logit_BR: np.ndarray) -> None:
        """Keep the validation logits of an epoch, for the estimates that are made from all folds."""
        make_folder(self.path / LOGITS)
        with atomic_file(logits_file(self.path, epoch), "wb") as file:
            np.save(file, logit_BR.astype(np.float32))

    def end(self) -> None:
        """Close the TensorBoard writer."""
        if self._board is not None:
            self._board.close()


def logits_file(folder: Path, epoch: int) -> Path:
    """Return the file with a fold's validation logits of an epoch."""
    return folder / LOGITS / f"epoch-{epoch}.npy"


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """Return the metrics of a run, one row per epoch."""
    path = folder / METRICS
    lines = path.read_bytes().splitlines() if path.exists() else []
    return [_figures(f"{path}:{number}", line) for number, line in enumerate(lines, 1)]


def _figures(where: str, line: bytes) -> dict[str, Any]:
    reason = ""
    try:
        row = from_json(line)
        if type(row.get("epoch")) is int and row["epoch"] > 0 and all(type(x) in (int, float) for x in row.values()):
            return row
    except JsonError as error:
        reason = f" ({error})"
    advice = "remove the file: no result depends on it, and the run continues without it"
    raise BadInputError(f"{where}: not a valid line of metrics{reason}: {advice}")


def description_of(
    config: RunConfig, fingerprint: str, device: torch.device, num_processes: int, warnings: Sequence[str]
) -> dict[str, Any]:
    """Return the provenance of a result in addition to its settings: data, code, versions, hardware."""
    return {
        "variant": config.variant,
        "seed": config.seed,
        "data_fingerprint": fingerprint,
        "sayso": __version__,
        "code_fingerprint": code_fingerprint(),
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else f"cpu {platform.machine()}",
        "num_processes": num_processes,
        "num_threads": torch.get_num_threads(),
        "warnings": list(warnings),
    }


def code_fingerprint() -> str:
    """Return a hash of the source code, which may have changed without a new version."""
    source = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for path in sorted(source.rglob("*.py")):
        digest.update(f"{path.relative_to(source).as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def model_of(extractor: Extractor, data: RunData, status: RunStatus) -> ModelParts:
    """Return the extractor with the store's vocabulary (words that have a vector) and a record of its training."""
    store, config = data.store, data.config
    if "form" not in store.manifest:
        raise BadInputError(f"{store.folder}: the store does not record the form of its corpus: prepare it again")
    lexicon = Lexicon(
        words=store.words[: len(data.word_VW)].to_pylist(),
        entity_ids=store.entities["id"].to_pylist(),
        entity_names=store.entities["name"].to_pylist(),
        type_E=data.type_E,
        types=store.types,
        form=CorpusForm(**store.manifest["form"]),
        mentions=config.data.mentions,
        max_tokens=int(store.manifest["settings"]["max_tokens"]),
        subwords=data.pretrained.subwords if data.pretrained else None,
    )
    training = {
        "seed": config.seed,
        "data_fingerprint": store.fingerprint,
        "epochs": status.epoch,
        "best_epoch": status.best_epoch,
        "seconds": round(status.seconds, 1),
        "validation": status.figures(),
        "config": config.to_table(),
    }
    relations, variant = store.relations, config.variant
    return ModelParts(extractor=extractor, lexicon=lexicon, relations=relations, variant=variant, training=training)
