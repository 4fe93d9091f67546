"""The folder of a reproduction: runs, a result file per finished run, and who may work in it.

Shapes: F facts of a set of marks that have a tuple, K resamples of the test part's bags.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sayso.errors import BadInputError, UserError, option
from sayso.io.atomic import atomic_file
from sayso.io.folder import locked
from sayso.io.json_file import JsonError, from_json, read_record, to_json
from sayso.reproduce.plan import PlannedRun

FINISHED, DIVERGED = "finished", "diverged"
RECALLS = [percent / 100 for percent in range(101)]
"""The recalls at which a curve is kept."""

_RESULTS = "outcomes"
_CALLS = "calls.jsonl"


@dataclass(frozen=True, kw_only=True)
class FactOrders:
    """How each mechanism orders the tuples of each marked fact: concordant minus discordant ones."""

    bag_F: list[int]
    probability_F: list[float]
    tuples_F: list[int]
    net: dict[str, list[int]]


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """A run's identity and figures; a run that diverged has a reason and no figures.

    `resampled` holds area and average precision on the test part for each of K resamples of its bags, the same ones
    for every run, so that differences between runs are paired. `curve` is precision at RECALLS.
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
        """Whether the run has figures."""
        return self.status == FINISHED


def write_result(path: Path, result: RunResult) -> None:
    """Write the result of a run as JSON, whole or not at all."""
    with atomic_file(path) as file:
        file.write(to_json(asdict(result)) + "\n")


def read_result(path: Path) -> RunResult:
    """Return what `write_result` wrote."""
    return read_record(path, RunResult, "the result of a run", "remove it, and the run is made again")


@dataclass(frozen=True)
class ReproductionFolder:
    """Where the files of a reproduction are."""

    path: Path

    def run_of(self, run: PlannedRun) -> Path:
        """Return the run folder, from which training resumes."""
        return self.path / "runs" / run.key

    def result_of(self, run: PlannedRun) -> Path:
        """Return the file that exists once the run is done."""
        return self.path / _RESULTS / f"{run.key}.json"

    def done(self, runs: Sequence[PlannedRun], fingerprint: str) -> dict[str, RunResult]:
        """Return the results so far, by key.

        Raises:
            UserError: a result was made with other settings or from another store.
        """
        return {run.key: self._checked(run, fingerprint) for run in runs if self.result_of(run).exists()}

    def calls(self) -> list[dict[str, Any]]:
        """Return what each finished call of the command did: number of runs and workers, and seconds."""
        path = self.path / _CALLS
        try:
            return [from_json(line) for line in path.read_bytes().splitlines()] if path.exists() else []
        except JsonError as error:
            raise BadInputError(f"{path}: damaged ({error}): remove it, no figure depends on it") from None

    def note_call(self, num_runs: int, num_workers: int, seconds: float) -> None:
        """Add a call to the list, unless it had nothing to do."""
        if num_runs:
            row = {"num_runs": num_runs, "num_workers": num_workers, "seconds": round(seconds, 1)}
            with atomic_file(self.path / _CALLS) as file:
                file.writelines(to_json(each) + "\n" for each in (*self.calls(), row))

    def _checked(self, run: PlannedRun, fingerprint: str) -> RunResult:
        path = self.result_of(run)
        result = read_result(path)
        advice = f"name another {option('folder', '--out')}"
        if result.data_fingerprint != fingerprint:
            raise UserError(f"{path}: made from the store {result.data_fingerprint}, not {fingerprint}: {advice}")
        if result.config != run.config.to_table():
            raise UserError(f"{path}: made with other settings: {advice}")
        return result

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Make the folders, and keep other reproductions out while the block runs."""
        names = sorted(path.name for path in self.path.glob("[!.]*"))
        if names and not {"runs", _RESULTS} & set(names):
            raise UserError(f"{self.path}: the folder holds {names[0]}, which is not of a reproduction; name another")
        with locked(self.path, "sayso reproduce"):
            for name in ("runs", _RESULTS):
                (self.path / name).mkdir(exist_ok=True)
            yield
