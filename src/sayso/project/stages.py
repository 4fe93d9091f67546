"""The stages of a project: their inputs, the fingerprints of their results, and the functions that run them.

Inputs are hashes of files, fingerprints of the results of earlier stages, and settings.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from sayso.documents.build import build, identity_of
from sayso.documents.corpus import (
    FACTS,
    BuildMode,
    fingerprint_of,
    read_manifest,
    read_records,
    relations_of,
    types_of,
)
from sayso.documents.document import Document, digest_of, read_documents
from sayso.embeddings.skip_gram import train_skip_gram
from sayso.engine import local_engine
from sayso.errors import BadInputError, UserError
from sayso.extract.folder import FolderMode, extraction_folder
from sayso.extract.gather import read_records as read_pieces
from sayso.extract.new_facts import LEAST_FACTS, NewFactThresholds, thresholds_of_run
from sayso.extract.run import Extraction, Output, extract
from sayso.extract.settings import ExtractInputs, ExtractSettings
from sayso.extract.threshold import ChosenThreshold, choose_on_validation
from sayso.io.atomic import write_text
from sayso.io.folder import kind_of
from sayso.io.json_file import to_json
from sayso.model.ensemble import model_fingerprint
from sayso.model.pretrained import encoder_fingerprint
from sayso.project import CNN, PRETRAINED, Project, decision_lines
from sayso.readers.files import parts_of, sha256_of
from sayso.readers.survey import Survey, survey_files
from sayso.records import OnProgress, no_progress
from sayso.store.inputs import Inputs
from sayso.store.prepare import prepare
from sayso.store.store import Store
from sayso.train.config import RunConfig, load_config
from sayso.train.held_out import read_held_out
from sayso.train.run import Callbacks, train
from sayso.train.seeds import SeedRun, train_seeds

DECISIONS = "decisions.jsonl"
REBUILT = "first documents"
"""Input of `extract`: changes if the corpus was built again instead of extended."""


@dataclass(frozen=True, kw_only=True)
class StageProgress:
    """What a running stage reports to."""

    on_progress: OnProgress = no_progress
    training: Callbacks = field(default_factory=Callbacks)


class StageRecord(NamedTuple):
    """The inputs a stage started with, the fingerprint of its result (empty until it finishes), and its seconds."""

    inputs: dict[str, str]
    output: str = ""
    seconds: float = 0.0


class Trained(NamedTuple):
    """The result of training."""

    config: RunConfig
    runs: list[SeedRun]


class ExtractedFacts(NamedTuple):
    """The result of extraction, and how its thresholds were chosen; None if no precision could be estimated."""

    extraction: Extraction
    chosen: ChosenThreshold | NewFactThresholds | None


class Stage(NamedTuple):
    """A stage: its current inputs, the fingerprint of its result (empty if it has none), and what runs it.

    `run` takes the progress to report to, and the record of the previous time. `clear` removes a result that cannot be
    continued with other inputs; it is called before these are recorded, so that a kill in between only repeats it.
    """

    name: str
    inputs: Callable[[], dict[str, str]]
    output: Callable[[], str]
    run: Callable[[StageProgress, StageRecord | None], Any]
    clear: Callable[[], None] = lambda: None

    def why(self, record: StageRecord | None, inputs: Mapping[str, str]) -> str:
        """Return why the stage has to run; empty if nothing has changed."""
        if record is None:
            return "first time"
        names = [
            name for name in dict.fromkeys((*inputs, *record.inputs)) if inputs.get(name) != record.inputs.get(name)
        ]
        if names:
            shown = [name for name in names if name != REBUILT] or names
            return "; ".join(_change(name, record.inputs.get(name), inputs.get(name)) for name in shown)
        if not record.output:
            return "was interrupted"
        return "" if self.output() == record.output else "its result is missing or has changed"


def _change(name: str, before: str | None, now: str | None) -> str:
    if "." in name and before is not None and now is not None:
        return f"{name} is {now}, was {before}"
    return f"{name} {'added' if before is None else 'removed' if now is None else 'changed'}"


def model_of(project: Project) -> str:
    """Return the fingerprint of the project's model; empty if there is none."""
    try:
        return model_fingerprint(project.run)
    except UserError:
        return ""


def stages_of(project: Project) -> list[Stage]:
    """Return the stages in order."""
    stages = _Stages(project)
    vectors = Stage("vectors", stages.for_vectors, stages.vectors, stages.train_vectors)
    return [
        Stage("build", stages.for_corpus, stages.corpus, stages.build),
        Stage("check", lambda: {"corpus": stages.corpus()}, stages.corpus, stages.check),
        *([] if project.settings.encoder else [vectors]),
        Stage("prepare", stages.for_store, stages.store, stages.prepare),
        Stage("train", stages.for_model, lambda: model_of(project), stages.train, stages.clear_run),
        Stage("extract", stages.for_facts, stages.facts, stages.extract),
    ]


class _Stages:
    """For each stage, its inputs, the fingerprint of its result, and the function that the single command calls too."""

    def __init__(self, project: Project) -> None:
        self.project, self.settings, self.engine = project, project.settings, local_engine()

    @cached_property
    def documents(self) -> str:
        """Hash of the documents."""
        return digest_of(self.project.build_inputs.documents)

    def for_corpus(self) -> dict[str, str]:
        tables = {name: sha256_of(path)[:16] for name, path in self.project.build_inputs.tables().items()}
        return {"documents": self.documents, **tables, **_flat("build", self.settings.build)}

    def corpus(self) -> str:
        return fingerprint_of(self.project.corpus)

    def build(self, progress: StageProgress, _: StageRecord | None) -> dict[str, Any]:
        progress.on_progress("comparing documents", 0, 0)
        mode, settings = self._build_mode(), self.settings
        inputs, out = self.project.build_inputs, self.project.corpus
        return build(inputs, settings.build, out, progress.on_progress, mode, settings.max_bad, self.engine)

    def _build_mode(self) -> BuildMode:
        """Return `append` if every document of the corpus is still there, and tables and settings are the same."""
        inputs, manifest = self.project.build_inputs, read_manifest(self.project.corpus)
        if not manifest:
            return "new"
        identity = identity_of(inputs, self.settings.build)
        if any(manifest.get(name) != identity[name] for name in ("settings", "inputs")):
            return "overwrite"
        now: dict[str, str] = {}
        for each in read_documents(inputs.documents, self.settings.build, lambda _: None):
            if isinstance(each, Document):
                now.setdefault(each.id, each.fingerprint)
        known = (pair for record in read_records(self.project.corpus) for pair in record.documents.items())
        return "append" if all(now.get(name) == fingerprint for name, fingerprint in known) else "overwrite"

    def check(self, progress: StageProgress, _: StageRecord | None) -> Survey:
        corpus = self.project.corpus
        tables = relations_of(corpus, None), types_of(corpus, None)
        return survey_files(parts_of(corpus), "auto", *tables, progress.on_progress)

    def for_vectors(self) -> dict[str, str]:
        return {"documents": self.documents, **_flat("vectors", self.settings.vectors)}

    def vectors(self) -> str:
        return sha256_of(self.project.words)[:16] if self.project.words.is_file() else ""

    def train_vectors(self, progress: StageProgress, _: StageRecord | None) -> Any:
        documents, out = self.project.build_inputs.documents, self.project.words
        return train_skip_gram(
            [documents], out, self.settings.vectors, 1.0, lambda text: progress.on_progress(text, 0, 0)
        )

    def for_store(self) -> dict[str, str]:
        lines = decision_lines(self.project)
        own = {"decisions": hashlib.sha256(lines.encode()).hexdigest()[:16]} if lines else {}
        vectors = {} if self.settings.encoder else {"vectors": self.vectors()}
        return {"corpus": self.corpus(), **vectors, **own, **_flat("prepare", self.settings.prepare)}

    def store(self) -> str:
        try:
            return Store(self.project.store).fingerprint if kind_of(self.project.store) == "store" else ""
        except BadInputError:
            return ""

    def prepare(self, progress: StageProgress, _: StageRecord | None) -> dict[str, Any]:
        lines, file = decision_lines(self.project), self.project.folder / DECISIONS
        if lines:
            write_text(file, lines)
        inputs = Inputs(
            train=self.project.corpus,
            vectors=None if self.settings.encoder else self.project.words,
            decisions=(file,) if lines else (),
        )
        return prepare(inputs, self.settings.prepare, self.project.store, progress.on_progress, True, self.engine)

    def config(self) -> RunConfig:
        """Return the config of the run: for a store without types, one that reads names."""
        settings, encoder = self.settings.train, self.settings.encoder
        changes = [*([] if self.settings.types else ["data.mentions=words"]), *settings.changes]
        if encoder:
            folder = json.dumps(str(self.project.path(encoder).resolve()), ensure_ascii=False)
            changes.insert(0, f"model.encoder.transformer.folder={folder}")
        return load_config(settings.config or (PRETRAINED if encoder else CNN), changes)

    def for_model(self) -> dict[str, str]:
        table = json.dumps(self.config().to_table(), sort_keys=True)
        encoder = self.settings.encoder
        own = {"encoder": encoder_fingerprint(self.project.path(encoder))} if encoder else {}
        config = hashlib.sha256(table.encode()).hexdigest()[:16]
        return {"store": self.store(), "config": config, **own, "train.seeds": str(self.settings.train.seeds)}

    def clear_run(self) -> None:
        """Remove a run that this project trained on other data or with other settings."""
        if self.project.run.is_dir():
            shutil.rmtree(self.project.run)

    def train(self, progress: StageProgress, _: StageRecord | None) -> Trained:
        store, out, settings = self.project.store, self.project.run, self.settings.train
        config = self.config()
        if settings.seeds > 1:
            return Trained(
                config, train_seeds(config, store, out, settings.seeds, settings.device, True, progress.training)
            )
        status = train(config, store, out, settings.device, True, progress.training)
        return Trained(config, [SeedRun(seed=config.seed, folder=out, status=status)])

    def for_facts(self) -> dict[str, str]:
        first = read_records(self.project.corpus)[:1]
        start = hashlib.sha256(json.dumps(first).encode()).hexdigest()[:16]
        return {
            "model": model_of(self.project),
            "corpus": self.corpus(),
            REBUILT: start,
            **_flat("extract", self.settings.extract),
        }

    def facts(self) -> str:
        manifest = extraction_folder(self.project.facts).read()
        return hashlib.sha256(to_json(manifest).encode()).hexdigest()[:16] if manifest.get("is_finished") else ""

    def extract(self, progress: StageProgress, before: StageRecord | None) -> ExtractedFacts:
        corpus, own = self.project.corpus, self.settings.extract
        inputs = ExtractInputs(run=self.project.run, corpus=corpus, kb=corpus / FACTS, types=types_of(corpus, None))
        settings = ExtractSettings(max_evidence=own.evidence, device=self.settings.train.device)
        if chosen := self._chosen():
            settings = replace(settings, threshold=chosen.threshold, chosen=chosen)
        mode: FolderMode = "resume" if self._can_resume(before) else "overwrite"
        output = Output(forms=own.formats)
        found = extract(inputs, settings, self.project.facts, mode, None, output, self.engine, progress.on_progress)
        return ExtractedFacts(found, chosen)

    def _can_resume(self, before: StageRecord | None) -> bool:
        """Return whether only sentences were added since the last extraction, and the project has not been moved."""
        now, corpus = self.for_facts(), self.project.corpus.resolve()
        is_same = before is not None and all(before.inputs.get(name) == now[name] for name in now if name != "corpus")
        pieces = [record.piece.file for record in read_pieces(self.project.facts)]
        return is_same and bool(pieces) and all(Path(file).is_relative_to(corpus) for file in pieces)

    def _chosen(self) -> ChosenThreshold | NewFactThresholds | None:
        own, facts = self.settings.extract, read_held_out(self.project.run)
        if facts is None:
            return choose_on_validation(self.project.run, self.project.store, own.precision)
        if facts.is_known_Q.sum() < LEAST_FACTS:
            return None
        return thresholds_of_run(self.project.run, own.precision, own.kb_completeness, is_strict=False)


def _flat(group: str, settings: Any) -> dict[str, str]:
    """Return settings as text, by their names in `project.toml`."""
    return {f"{group}.{name}": json.dumps(value) for name, value in asdict(settings).items()}
