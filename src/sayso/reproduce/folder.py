"""The folder of a reproduction: runs, their outcomes, and what is made of them; one command at a time works in it."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sayso.errors import BadInputError, UserError, option
from sayso.io.atomic import atomic_file
from sayso.io.folder import locked
from sayso.io.json_file import JsonError, from_json, to_json
from sayso.reproduce.outcome import Outcome, read_outcome
from sayso.reproduce.plan import Job

_CALLS = "calls.jsonl"


@dataclass(frozen=True)
class Folder:
    """Where the files of a reproduction lie."""

    path: Path

    def run_of(self, job: Job) -> Path:
        """Return the run folder, from which training goes on."""
        return self.path / "runs" / job.key

    def outcome_of(self, job: Job) -> Path:
        """Return the file that is there when the run is done."""
        return self.path / "outcomes" / f"{job.key}.json"

    def done(self, jobs: Sequence[Job], fingerprint: str) -> dict[str, Outcome]:
        """Return the outcomes that are there, by key; one of other settings or data is refused."""
        there = [job for job in jobs if self.outcome_of(job).exists()]
        return {job.key: self._checked(job, fingerprint) for job in there}

    def calls(self) -> list[dict[str, Any]]:
        """Return what each call of the command that came to its end has done: runs made, side by side, and seconds."""
        path = self.path / _CALLS
        try:
            return [from_json(line) for line in path.read_bytes().splitlines()] if path.exists() else []
        except JsonError as error:
            raise BadInputError(
                f"{path}: not what this command wrote ({error}): remove it, no figure depends on it"
            ) from None

    def note_call(self, num_runs: int, num_workers: int, seconds: float) -> None:
        """Add what this call has done; one that had nothing to do is not worth a line."""
        if num_runs:
            row = {"num_runs": num_runs, "num_workers": num_workers, "seconds": round(seconds, 1)}
            with atomic_file(self.path / _CALLS) as file:
                file.writelines(to_json(each) + "\n" for each in (*self.calls(), row))

    def _checked(self, job: Job, fingerprint: str) -> Outcome:
        path = self.outcome_of(job)
        outcome = read_outcome(path)
        if outcome.data_fingerprint != fingerprint:
            raise UserError(
                f"{path}: made from the store {outcome.data_fingerprint}, not {fingerprint}: name"
                f" another {option('folder', '--out')}"
            )
        if outcome.config != job.config.to_table():
            raise UserError(
                f"{path}: made with other settings than are asked for now: name another {option('folder', '--out')}"
            )
        return outcome

    def _refuse_foreign(self) -> None:
        names = sorted(path.name for path in self.path.glob("[!.]*"))
        if names and not {"runs", "outcomes"} & set(names):
            raise UserError(f"{self.path}: the folder holds {names[0]}, which is not of a reproduction; name another")

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        """Make the folders and keep other reproductions out while the block runs."""
        self._refuse_foreign()
        with locked(self.path, "sayso reproduce"):
            for name in ("runs", "outcomes"):
                (self.path / name).mkdir(exist_ok=True)
            yield
