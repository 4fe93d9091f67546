"""A run that the workbench has open: its predictions, read again when `sayso evaluate` has replaced them."""

from pathlib import Path
from threading import Lock

from sayso.errors import BadInputError, as_command
from sayso.io.atomic import restore
from sayso.io.checksum import ChangedError, signature_of
from sayso.io.folder_kind import refuse_other_kind
from sayso.serve.predictions.run import ExploredRun
from sayso.store.predictions import EVIDENCE, FACTS, IN_RUN, MANIFEST, WORDS, Predictions
from sayso.store.store import Store
from sayso.store.table import BagTable

_DEFAULT_PART = "test"


class OpenRun:
    """A run by its name in links, and what it predicts for the part that is shown.

    `problem` says why its pages cannot be shown; None where they can. Other pages do without the run then.
    """

    def __init__(self, name: str, folder: Path, store: Store, part: str, table: BagTable) -> None:
        self.name = name
        self.folder = folder
        self.problem: ChangedError | None = None
        self._store = store
        self._part = part
        self._table = table
        self._lock = Lock()
        self._signature = self._now()
        self.explored = self._open()

    def follow(self) -> None:
        """Read the predictions again if they were replaced; tell by `problem` if they cannot be shown."""
        with self._lock:
            try:
                if self._now() != self._signature:
                    signature, explored = self._now(), self._open()
                    for name in (FACTS, EVIDENCE, WORDS):
                        explored.predictions.files.path(name)  # damage is told here, not on pages of annotators
                    self._signature, self.explored = signature, explored
                self.explored.predictions.files.refuse_changed()
                self.problem = None
            except ChangedError as error:
                self.problem = error
            except (BadInputError, OSError) as error:
                self.problem = ChangedError(str(error))

    def _now(self) -> tuple[int, ...]:
        path = self.folder / IN_RUN / MANIFEST
        try:
            return signature_of(path.stat())
        except OSError:
            return ()

    def _open(self) -> ExploredRun:
        refuse_other_kind(self.folder, "run")
        restore(self.folder / IN_RUN)
        if not (self.folder / IN_RUN).exists():
            command = evaluate_command(self.folder, self._store.folder, self._part)
            raise BadInputError(f"{self.folder}: no predictions are here yet; make them with: {command}")
        predictions = Predictions(self.folder / IN_RUN, in_memory=True)
        predictions.refuse_other_store(self._store)
        part = predictions.manifest["part"]
        if part != self._part:
            raise BadInputError(
                f"{self.folder}: predictions of the {part} part, not of {self._part}: use `--part {part}`"
            )
        return ExploredRun(self.name, self.folder, predictions, self._store, self._table)


def evaluate_command(run: Path | str, store: Path, part: str) -> str:
    """Return the command that makes a run's predictions for a part."""
    return as_command("sayso", "evaluate", run, "--data", store, *_part_option(part))


def serve_command(run: Path | str, store: Path, part: str) -> str:
    """Return the command that shows a run's predictions for a part."""
    return as_command("sayso", "serve", "--data", store, "--run", run, *_part_option(part))


def _part_option(part: str) -> tuple[str, ...]:
    return ("--part", part) if part != _DEFAULT_PART else ()
