"""Run the stages of a project, from documents to facts, each only if its inputs have changed since it last finished.

`stages.json` in the project's folder records the inputs of each stage (hashes of files, fingerprints of the results of
earlier stages, settings) and the fingerprint of its result. An interrupted stage continues where it stopped.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sayso.io.atomic import write_text
from sayso.io.folder import locked
from sayso.io.json_file import JsonError, from_json, record_of, to_json
from sayso.project import Project
from sayso.project.stages import StageProgress, StageRecord, model_of, stages_of

RECORDS = "stages.json"
_OF_MODEL = ("vectors", "prepare", "train")
StageStatus = Literal["done", "unchanged", "kept", "would run", "would run if its inputs change"]


class StageResult(NamedTuple):
    """How a stage ended, or what a dry run expects; `result` is None unless it was done."""

    stage: str
    status: StageStatus
    reason: str
    seconds: float = 0.0
    result: Any = None


OpenStage = Callable[[str, int, int, str], AbstractContextManager[StageProgress]]
"""Called with a stage's name, its number, the number of stages and why it runs."""


def run_project(project: Project, open_stage: OpenStage, keep_model: bool = False) -> Iterator[StageResult]:
    """Run the stages whose inputs have changed, and yield how each ended.

    With `keep_model`, an existing model is used as it is: vectors, store and model are not made again.
    """
    stages = stages_of(project)
    with locked(project.folder, "sayso run"):
        for number, stage in enumerate(stages, 1):
            records = read_stages(project.folder)
            if keep_model and stage.name in _OF_MODEL and model_of(project):
                yield StageResult(stage.name, "kept", "the model is kept")
                continue
            record, inputs = records.get(stage.name), stage.inputs()
            reason = stage.why(record, inputs)
            if not reason:
                yield StageResult(stage.name, "unchanged", "nothing has changed")
                continue
            if record and record.inputs != inputs:
                stage.clear()
            _write(project.folder, records | {stage.name: StageRecord(inputs)})
            began = time.monotonic()
            with open_stage(stage.name, number, len(stages), reason) as progress:
                result = stage.run(progress, record)
            seconds = time.monotonic() - began
            _write(project.folder, records | {stage.name: StageRecord(inputs, stage.output(), seconds)})
            yield StageResult(stage.name, "done", reason, seconds, result)


def plan_project(project: Project, keep_model: bool = False) -> Iterator[StageResult]:
    """Yield what `run_project` would do, without doing it."""
    records, pending = read_stages(project.folder), ""
    for stage in stages_of(project):
        record = records.get(stage.name)
        if keep_model and stage.name in _OF_MODEL and model_of(project):
            yield StageResult(stage.name, "kept", "the model is kept")
            continue
        reason = stage.why(record, stage.inputs())
        seconds = record.seconds if record else 0.0
        if reason:
            pending = pending or stage.name
            yield StageResult(stage.name, "would run", reason, seconds)
        elif pending:
            yield StageResult(stage.name, "would run if its inputs change", f"after {pending}", seconds)
        else:
            yield StageResult(stage.name, "unchanged", "nothing has changed")


def read_stages(folder: Path) -> dict[str, StageRecord]:
    """Return the records of the stages by name; none if the file is missing or damaged, so that all stages run."""
    try:
        found = from_json((folder / RECORDS).read_bytes())
        return {name: record_of(StageRecord, record) for name, record in found.items()}
    except (OSError, JsonError):
        return {}


def _write(folder: Path, records: Mapping[str, StageRecord]) -> None:
    write_text(folder / RECORDS, to_json({name: each._asdict() for name, each in records.items()}, indent=1) + "\n")
