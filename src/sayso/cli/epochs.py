"""How training is shown: a bar and a line per epoch on a terminal, otherwise the lines alone; all on stderr."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from sayso.cli.console import plain, remark

if TYPE_CHECKING:
    from sayso.train.loop import StepProgress
    from sayso.train.run import Callbacks

_AREA, _PRECISION = "validation/area_up_to_recall_0.4", "validation/average_precision"


class EpochDisplay:
    """Shows the epochs of one run after the other; `folder` is that of the present one."""

    def __init__(self, bar: Progress | None) -> None:
        self._bar = bar
        self._task = bar.add_task("", total=None, rate="") if bar else None
        self._seconds_before = 0.0
        self._begun_at = self._max_epochs = 0
        self.folder: Path | None = None

    def callbacks(self) -> "Callbacks":
        """Return what a run calls."""
        from sayso.train.run import Callbacks

        return Callbacks(on_begin=self._begin, on_step=self._step, on_epoch=self._end_epoch)

    def _begin(self, description: dict[str, Any]) -> None:
        self._begun_at, self._max_epochs = description["epoch"], description["max_epochs"]
        self.folder = Path(description["folder"])
        self._seconds_before = description["seconds"]
        begins = f"goes on after epoch {self._begun_at}" if self._begun_at else "begins"
        self._print(
            f"{description['variant']}, seed {description['seed']}, {description['device']}:"
            f" {description['num_parameters']:,} parameters, {description['num_bags']:,} bags,"
            f" {description['num_sentences']:,} sentences; {begins}, at most {self._max_epochs:,}"
            f" epoch{'s' * (self._max_epochs > 1)}"
        )
        for line in description["warnings"]:
            self._print(line)

    def _step(self, progress: "StepProgress") -> None:
        if self._bar is None or self._task is None:
            return
        rate = f"{progress.sentences_per_second:,.0f} sentences/s"
        what = f"epoch {progress.epoch}/{self._max_epochs}"
        self._bar.update(self._task, description=what, completed=progress.step, total=progress.num_steps, rate=rate)

    def _end_epoch(self, row: dict[str, Any]) -> None:
        self._print(self._line(row))

    def _line(self, row: dict[str, Any]) -> str:
        terms = ", ".join(f"{name[5:]} {value:.4f}" for name, value in row.items() if name.startswith("loss/"))
        is_best = " (best)" if row["best_epoch"] == row["epoch"] else ""
        return (
            f"epoch {row['epoch']:>2}/{self._max_epochs}  loss {row['loss']:.4f} ({terms})"
            f"  validation AUC@0.4 {row[_AREA]:.4f}, AP {row[_PRECISION]:.4f}{is_best}"
            f"  {row['sentences_per_second']:,.0f} sentences/s  {self._time_left(row)}"
        )

    def _time_left(self, row: dict[str, Any]) -> str:
        """Return the time to the last epoch, if none is left out: training may end earlier."""
        seconds_per_epoch = (row["seconds"] - self._seconds_before) / (row["epoch"] - self._begun_at)
        minutes, seconds = divmod(round(seconds_per_epoch * (self._max_epochs - row["epoch"])), 60)
        hours, minutes = divmod(minutes, 60)
        return f"at most {hours}:{minutes:02}:{seconds:02} left"

    def _print(self, line: str) -> None:
        if self._bar is None:
            remark(line)
        else:
            self._bar.console.print(plain(line), highlight=False, markup=False)


@contextmanager
def shown_epochs() -> Iterator[EpochDisplay]:
    """Give something that shows training on stderr while the block runs."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield EpochDisplay(None)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[rate]}"))
    with Progress(*columns, console=console, transient=True) as bar:
        yield EpochDisplay(bar)
