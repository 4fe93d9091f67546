"""Progress of training on stderr: the epochs of one run, or an overview of many parallel runs."""

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress import Progress
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from sayso.cli.console import note, plain, progress_bar

if TYPE_CHECKING:
    from sayso.reproduce.run import PlanStatus
    from sayso.reproduce.worker import Event
    from sayso.train.loop import StepProgress
    from sayso.train.run import Callbacks

_SECONDS_BETWEEN_LINES = 30.0
_AREA, _PRECISION = "validation/area_up_to_recall_0.4", "validation/average_precision"


class EpochDisplay:
    """Display of a run's epochs: a bar and lines on a terminal, otherwise only lines."""

    def __init__(self, bar: Progress) -> None:
        self._bar, self._task = bar, bar.add_task("", total=None, rate="")
        self._run: dict[str, Any] = {}
        self.folder: Path | None = None

    def callbacks(self) -> "Callbacks":
        """Return the callbacks for `train`."""
        from sayso.train.run import Callbacks

        return Callbacks(on_begin=self._begin, on_step=self._step, on_epoch=self._end_epoch)

    def _begin(self, run: dict[str, Any]) -> None:
        self._run, self.folder = run, Path(run["folder"])
        begins = f"continues after epoch {run['epoch']}" if run["epoch"] else "starts"
        self._print(
            f"{_about_fold(run)}{run['variant']}, seed {run['seed']}, {run['device']}:"
            f" {run['num_parameters']:,} parameters, {run['num_bags']:,} bags, {run['num_sentences']:,} sentences;"
            f" {begins}, at most {run['max_epochs']:,} epoch{'s' * (run['max_epochs'] > 1)}"
        )
        for line in run["warnings"]:
            self._print(line)

    def _step(self, progress: "StepProgress") -> None:
        if self._bar.disable:
            return
        rate = f"{progress.sentences_per_second:,.0f} sentences/s"
        what = f"{_about_fold(self._run)}epoch {progress.epoch}/{self._run['max_epochs']}"
        self._bar.update(self._task, description=what, completed=progress.step, total=progress.num_steps, rate=rate)

    def _end_epoch(self, row: dict[str, Any]) -> None:
        terms = ", ".join(f"{name[5:]} {value:.4f}" for name, value in row.items() if name.startswith("loss/"))
        is_best = " (best)" if row["best_epoch"] == row["epoch"] else ""
        seconds_per_epoch = (row["seconds"] - self._run["seconds"]) / (row["epoch"] - self._run["epoch"])
        # Training may stop earlier.
        num_left = self._run["max_epochs"] - row["epoch"]
        if self._run["withheld"]:  # the other folds, and the model on all facts
            num_left += (self._run["num_folds"] - self._run["withheld"] + 1) * self._run["max_epochs"]
        left = clock(seconds_per_epoch * num_left)
        validation = f"  validation AUC@0.4 {row[_AREA]:.4f}, AP {row[_PRECISION]:.4f}{is_best}" if _AREA in row else ""
        self._print(
            f"epoch {row['epoch']:>2}/{self._run['max_epochs']}  loss {row['loss']:.4f} ({terms}){validation}"
            f"  {row['sentences_per_second']:,.0f} sentences/s  at most {left} left"
        )

    def _print(self, line: str) -> None:
        if self._bar.disable:
            note(line)
        else:
            self._bar.console.print(plain(line), highlight=False, markup=False)


def _about_fold(run: dict[str, Any]) -> str:
    if not run["num_folds"]:
        return ""
    return f"fold {run['withheld']} of {run['num_folds']} withheld: " if run["withheld"] else "all facts: "


@contextmanager
def shown_epochs() -> Iterator[EpochDisplay]:
    """Show the epochs of training while the block runs."""
    with progress_bar("{task.fields[rate]}") as bar:
        yield EpochDisplay(bar)


class Overview:
    """Display of many runs, with counts and the time left: a live table, or a line per run."""

    def __init__(self, is_live: bool) -> None:
        self.is_live = is_live
        self._running: dict[str, Event] = {}
        self._max_epochs: dict[str, int] = {}
        self._epochs_of_done: list[int] = []
        self._seconds_of_epoch: dict[str, float] = {}
        self._num_done_before = self._num_runs = self._num_workers = 0
        self._last_line = time.monotonic()

    def begin(self, status: "PlanStatus") -> None:
        """Show the plan."""
        self._max_epochs = {run.key: run.config.train.max_epochs for run in status.todo}
        self._num_done_before, self._num_workers = len(status.done), status.num_workers
        self._num_runs = len(status.plan.runs)
        for variant, reason in status.plan.left_out.items():
            note(f"left out: {variant}: {reason}")
        if not self._max_epochs:
            note(f"{self._num_runs} runs, all already done")
            return
        note(
            f"{self._num_runs} runs, {self._num_done_before} already done; {self._num_workers} in parallel, at most"
            f" {max(self._max_epochs.values())} epochs each"
        )

    def update(self, event: "Event") -> None:
        """Show an event of a run."""
        if event.kind == "done":
            self._running.pop(event.key, None)
            self._epochs_of_done.append(event.epoch)
        else:
            self._running[event.key] = event
        if event.seconds and event.kind == "epoch":
            self._seconds_of_epoch[event.key] = event.seconds
        now = time.monotonic()
        if event.kind == "done" or (not self.is_live and now - self._last_line >= _SECONDS_BETWEEN_LINES):
            self._last_line = now
            if event.kind != "done":
                how = f"epoch {event.epoch}/{self._max_epochs[event.key]}"
            else:
                how = f"DIVERGED: {event.text}" if event.text else f"{event.epoch} epochs, {event.seconds:,.0f} s"
            note(f"{event.key}: {how}; {self._counts()}")

    @property
    def num_done(self) -> int:
        """Finished runs, including those of an earlier call."""
        return self._num_done_before + len(self._epochs_of_done)

    def seconds_left(self) -> float | None:
        """Estimate the time left from the runs so far; None before the first epoch."""
        if not self._seconds_of_epoch:
            return None
        most = max(self._max_epochs.values())
        expected = statistics.fmean(self._epochs_of_done) if self._epochs_of_done else most
        num_waiting = len(self._max_epochs) - len(self._epochs_of_done) - len(self._running)
        epochs = num_waiting * expected
        epochs += sum(max(1.0, expected - event.epoch) for event in self._running.values())
        return epochs * statistics.fmean(self._seconds_of_epoch.values()) / self._num_workers

    def _counts(self) -> str:
        num_waiting = self._num_runs - self.num_done - len(self._running)
        left = self.seconds_left()
        shown = "" if left is None else f", about {clock(left)} left"
        return f"{self.num_done} done, {len(self._running)} running, {num_waiting} to do{shown}"

    def __rich__(self) -> Group:
        """Return the table for rich."""
        table = Table.grid(padding=(0, 2))
        for key, event in sorted(self._running.items()):
            most = self._max_epochs[key]
            bar = ProgressBar(total=most, completed=event.epoch, width=24)
            table.add_row(Text(plain(key)), bar, f"epoch {event.epoch}/{most}")
        whole = Table.grid()
        whole.add_row(ProgressBar(total=max(1, self._num_runs), completed=self.num_done, width=60))
        return Group(Text(self._counts()), whole, table)


def clock(seconds: float) -> str:
    """Return a duration as hours, minutes and seconds.

    >>> clock(3725.4)
    '1:02:05'
    """
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


@contextmanager
def shown_overview() -> Iterator[Overview]:
    """Show many runs while the block runs."""
    console = Console(stderr=True)
    overview = Overview(console.is_terminal)
    live = Live(overview, console=console, transient=True, refresh_per_second=2)
    with live if overview.is_live else nullcontext():
        yield overview
