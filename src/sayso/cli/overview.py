"""How many runs side by side are shown: a table that moves on a terminal, otherwise a line a run; all on stderr."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from sayso.cli.console import plain, remark

if TYPE_CHECKING:
    from sayso.reproduce.run import PlanStatus
    from sayso.reproduce.worker import Event

_SECONDS_BETWEEN_LINES = 30.0


class Overview:
    """Counts runs done, running and to do, and reckons the time left; draws itself for rich."""

    def __init__(self, is_live: bool) -> None:
        self.is_live = is_live
        self._running: dict[str, Event] = {}
        self._max_epochs: dict[str, int] = {}
        self._epochs_of_done: list[int] = []
        self._seconds_of_epoch: dict[str, float] = {}
        self._num_done_before = self._num_runs = self._num_workers = 0
        self._last_line = time.monotonic()

    def begin(self, status: "PlanStatus") -> None:
        """Take in what there is to do."""
        self._max_epochs = {run.key: run.config.train.max_epochs for run in status.todo}
        self._num_done_before, self._num_workers = len(status.done), status.num_workers
        self._num_runs = len(status.plan.runs)
        for variant, reason in status.plan.left_out.items():
            remark(f"left out: {variant}: {reason}")
        if not self._max_epochs:
            remark(f"{self._num_runs} runs, all done already")
            return
        remark(
            f"{self._num_runs} runs, {self._num_done_before} done already; {self._num_workers} side by side, at most"
            f" {max(self._max_epochs.values())} epochs each"
        )

    def hear(self, event: "Event") -> None:
        """Take in what a run tells."""
        if event.kind == "done":
            self._running.pop(event.key, None)
            self._epochs_of_done.append(event.epoch)
        else:
            self._running[event.key] = event
        if event.seconds and event.kind == "epoch":
            self._seconds_of_epoch[event.key] = event.seconds
        if event.kind == "done" or (not self.is_live and self._is_time()):
            self._last_line = time.monotonic()
            self._say(event)

    @property
    def num_done(self) -> int:
        """Runs that are done, also those of an earlier call."""
        return self._num_done_before + len(self._epochs_of_done)

    def seconds_left(self) -> float | None:
        """Return the time that the other runs take if they are like those so far; None before the first epoch."""
        if not self._seconds_of_epoch:
            return None
        mean = sum(self._seconds_of_epoch.values()) / len(self._seconds_of_epoch)
        usual = sum(self._epochs_of_done) / len(self._epochs_of_done) if self._epochs_of_done else None
        num_waiting = len(self._max_epochs) - len(self._epochs_of_done) - len(self._running)
        most = max(self._max_epochs.values())
        epochs = num_waiting * (usual if usual is not None else most)
        for key, event in self._running.items():
            epochs += max(1.0, (usual if usual is not None else self._max_epochs[key]) - event.epoch)
        return epochs * mean / self._num_workers

    def _is_time(self) -> bool:
        return time.monotonic() - self._last_line >= _SECONDS_BETWEEN_LINES

    def _say(self, event: "Event") -> None:
        if event.kind != "done":
            remark(f"{event.key}: epoch {event.epoch}/{self._max_epochs[event.key]}; {self._counts()}")
            return
        how = f"DIVERGED: {event.text}" if event.text else f"{event.epoch} epochs, {event.seconds:,.0f} s"
        remark(f"{event.key}: {how}; {self._counts()}")

    def _counts(self) -> str:
        num_waiting = self._num_runs - self.num_done - len(self._running)
        left = self.seconds_left()
        shown = "" if left is None else f", about {clock(left)} left"
        return f"{self.num_done} done, {len(self._running)} running, {num_waiting} to do{shown}"

    def __rich__(self) -> Group:
        """Return the whole as it stands."""
        table = Table.grid(padding=(0, 2))
        for key, event in sorted(self._running.items()):
            most = self._max_epochs[key]
            bar = ProgressBar(total=most, completed=event.epoch, width=24)
            table.add_row(Text(plain(key)), bar, f"epoch {event.epoch}/{most}")
        whole = Table.grid()
        whole.add_row(ProgressBar(total=max(1, self._num_runs), completed=self.num_done, width=60))
        return Group(Text(self._counts()), whole, table)


def clock(seconds: float) -> str:
    """Return a time as hours, minutes and seconds.

    >>> clock(3725.4)
    '1:02:05'
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"


@contextmanager
def shown_overview() -> Iterator[Overview]:
    """Give something that shows many runs on stderr while the block runs."""
    console = Console(stderr=True)
    overview = Overview(console.is_terminal)
    if not console.is_terminal:
        yield overview
        return
    with Live(overview, console=console, transient=True, refresh_per_second=2):
        yield overview
