"""The folder of a reproduction: runs, a result file per finished run, and its lock.

Shapes: F facts of a set of marks that have a tuple, K resamples of the test part's bags.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sayso.errors import BadInputError, UserError, option
from sayso.io.atomic import atomic_file, write_text
from sayso.io.folder import locked
from sayso.io.json_file import JsonError, from_json, read_record, to_json
from sayso.reproduce.plan import PlannedRun

FINISHED, DIVERGED = "finished", "diverged"
RECALLS = [percent / 100 for percent in range(101)]
"""Recall levels at which a curve is stored."""

_RESULTS = "outcomes"
_CALLS = "calls.jsonl"


@dataclass(frozen=True, kw_only=True)
class FactOrders:
    """How each mechanism orders the tuples of each marked fact: `net` is concordant minus discordant tuples."""

    bag_F: list[int]
    probability_F: list[float]
    tuples_F: list[int]
    net: dict[str, list[int]]


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """A run's identity and metrics; a diverged run has a reason and no metrics.

    `resampled` has area and average precision for each of K resamples of the test bags. All runs share the resamples,
    so differences between runs are paired. `curve` is precision at RECALLS.
    """

    key: str
    variant: str
    seed: int
    label: str
    config: dict[str, Any]
    data_fingerprint: str
    status: str
    why: str = ""
    validation: dict[str, float]
    test: dict[str, Any]
    resampled: dict[str, list[float | None]]
    curve: list[float]
    orders: dict[str, FactOrders]
    weights: dict[str, float]
    epochs: int
    best_epoch: int
    seconds: float
    device: str
    sayso: str
    code_fingerprint: str

    @property
    def is_finished(self) -> bool:
        """Whether the run has metrics."""
        return self.status == FINISHED


def write_result(path: Path, result: RunResult) -> None:
    """Write the result of a run as JSON, atomically."""
    write_text(path, to_json(asdict(result)) + "\n")


def read_result(path: Path) -> RunResult:
    """Read a result written by `write_result`."""
    return read_record(path, RunResult, "run result", "remove it, and the run will be repeated")


@dataclass(frozen=True)
class ReproductionFolder:
    """Paths and results of a reproduction."""

    path: Path

    def run_of(self, run: PlannedRun) -> Path:
        """Return the run folder, from which training resumes."""
        return self.path / "runs" / run.key

    def result_of(self, run: PlannedRun) -> Path:
        """Return the file that exists once the run is done."""
        return self.path / _RESULTS / f"{run.key}.json"

    def done(self, runs: Sequence[PlannedRun], fingerprint: str) -> dict[str, RunResult]:
        """Return the results so far, by run key.

        Raises:
            UserError: a result was made with different settings or from a different store.
        """
        return {run.key: self._checked(run, fingerprint) for run in runs if self.result_of(run).exists()}

    def calls(self) -> list[dict[str, Any]]:
        """Return the number of runs, workers and seconds of each finished invocation of the command."""
        path = self.path / _CALLS
        try:
            return [from_json(line) for line in path.read_bytes().splitlines()] if path.exists() else []
        except JsonError as error:
            raise BadInputError(f"{path}: damaged ({error}): remove it; no result depends on it") from None

    def note_call(self, num_runs: int, num_workers: int, seconds: float) -> None:
        """Record an invocation, unless it had nothing to do."""
        if num_runs:
            row = {"num_runs": num_runs, "num_workers": num_workers, "seconds": round(seconds, 1)}
            with atomic_file(self.path / _CALLS) as file:
                file.writelines(to_json(each) + "\n" for each in (*self.calls(), row))

    def _checked(self, run: PlannedRun, fingerprint: str) -> RunResult:
        path = self.result_of(run)
        result = read_result(path)
        advice = f"choose another {option('folder', '--out')}"
        if result.data_fingerprint != fingerprint:
            raise UserError(f"{path}: made from store {result.data_fingerprint}, not {fingerprint}: {advice}")
        if result.config != run.config.to_table():
            raise UserError(f"{path}: made with different settings: {advice}")
        return result

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Create the folders, and keep other reproductions out while the block runs."""
        names = sorted(path.name for path in self.path.glob("[!.]*"))
        if names and not {"runs", _RESULTS} & set(names):
            raise UserError(
                f"{self.path}: the folder contains {names[0]}, which is not part of a reproduction; choose another"
                f" {option('folder', '--out')}"
            )
        with locked(self.path, "sayso reproduce"):
            for name in ("runs", _RESULTS):
                (self.path / name).mkdir(exist_ok=True)
            yield
