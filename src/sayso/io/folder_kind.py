"""Which command made a folder, by its files, and what to do if another kind of folder is needed."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from sayso.errors import BadInputError, as_command

Kind = Literal[
    "store", "corpus", "invented", "raw", "extraction", "predictions", "model", "run", "seeds", "reproduction"
]
WantedKind = Literal["store", "run", "extraction", "sentences"]

_MANIFEST = "manifest.json"
_MADE_BY: Mapping[str, Kind] = {
    "sayso build": "corpus",
    "sayso invent": "invented",
    "sayso invent --raw": "raw",
    "sayso extract": "extraction",
}
_IDENTIFIED_BY: Mapping[Kind, Callable[[Path], bool]] = {
    "model": lambda folder: all((folder / name).is_file() for name in ("config.json", "model.safetensors")),
    "run": lambda folder: (folder / "run.json").is_file(),
    "seeds": lambda folder: any(folder.glob("seed-*/run.json")),
    "reproduction": lambda folder: (folder / "runs").is_dir() and (folder / "outcomes").is_dir(),
}
_WHAT: Mapping[str, str] = {
    "store": "a store",
    "corpus": "a corpus that `sayso build` made",
    "invented": "a corpus that `sayso invent` made",
    "raw": "documents that `sayso invent --raw` made",
    "extraction": "the facts of a `sayso extract`",
    "predictions": "the predictions of a run",
    "model": "a model",
    "run": "a run",
    "seeds": "runs of several seeds",
    "reproduction": "a reproduction",
}
_TARGET: Mapping[WantedKind, str] = {
    "store": "a store",
    "run": "a run or a model",
    "extraction": "an extraction",
    "sentences": "a file or folder of sentences",
}
_ALLOWED: Mapping[WantedKind, tuple[Kind | None, ...]] = {
    "store": (None, "store"),
    "run": (None, "run", "model"),
    "extraction": (None, "extraction"),
    "sentences": (None, "corpus"),
}
_REMEDY: Mapping[tuple[WantedKind, str], str] = {
    ("store", ""): "make one with `sayso prepare`",
    ("store", "corpus"): "make a store of it with `sayso prepare --train {0}/train --relations {0}/relations.jsonl"
    " --types {0}/types.json --out STORE`",
    ("store", "invented"): "make a store of it with `sayso prepare --train {0}/train.jsonl --test {0}/test.jsonl"
    " --relations {0}/relations.tsv --types {0}/types.json --out STORE`",
    ("store", "raw"): "make a corpus of it with `sayso build`, then a store with `sayso prepare`",
    ("store", "run"): "name the store that it was trained on",
    ("store", "model"): "name the store that it was trained on",
    ("store", "extraction"): "name the store that its model was trained on",
    ("run", ""): "make one with `sayso train`",
    ("run", "store"): "train one on it with `sayso train CONFIG --data {0} --out RUN`",
    ("run", "extraction"): "name the run that found them",
    ("run", "seeds"): "name one of them, {0}/seed-…",
    ("run", "reproduction"): "name one of its runs, {0}/runs/…",
    ("run", "predictions"): "name the run's own folder, the one above",
    ("extraction", ""): "make one with `sayso extract`",
    ("extraction", "run"): "extract facts with it: `sayso extract {0} CORPUS --out FACTS`",
    ("sentences", ""): "name a file of sentences, or a folder of such files",
    ("sentences", "invented"): "name one of its files, such as {0}/train.jsonl",
    ("sentences", "store"): "name the sentences that it was made of",
}

_PATH = re.compile(r"[^\s`]*\{0\}[^\s`…]*")


def kind_of(folder: Path) -> Kind | None:
    """Return the kind of a folder; None if no command of ours made it, or if it is not a folder."""
    manifest = _manifest(folder)
    if (made := manifest.get("made_by")) is not None:
        return _MADE_BY.get(made) if isinstance(made, str) else None
    if "fingerprint" in manifest and "parts" in manifest:
        return "store"
    if "mechanisms" in manifest:
        return "predictions"
    return next((kind for kind, is_it in _IDENTIFIED_BY.items() if is_it(folder)), None)


def refuse_other_kind(folder: Path, wanted: WantedKind) -> None:
    """Raise `BadInputError` if this is known to be another kind of folder, or not a folder."""
    if kind_of(folder) not in _ALLOWED[wanted] or not folder.is_dir():
        raise wrong_folder(folder, wanted)


def wrong_folder(folder: Path, wanted: WantedKind, why: str = "") -> BadInputError:
    """Return the error for a folder of the wrong kind: what it is, and what to do."""
    kind, target = kind_of(folder), _TARGET[wanted]
    remedy = _REMEDY.get((wanted, kind or ""), _REMEDY[wanted, ""])
    remedy = _PATH.sub(lambda word: as_command(word[0].format(folder)), remedy)
    if kind not in _ALLOWED[wanted]:
        return BadInputError(f"{folder}: this is {_WHAT[kind or '']}, not {target}: {remedy}")
    if not folder.exists():
        return BadInputError(f"{folder}: there is no such folder: {remedy}")
    if not folder.is_dir():
        return BadInputError(f"{folder}: this is a file, not {target}: {remedy}")
    return BadInputError(f"{folder}: not {target}{f' ({why})' if why else ''}: {remedy}")


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / _MANIFEST
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
