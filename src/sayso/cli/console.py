"""How commands talk: tables and results on stdout, progress and remarks on stderr.

Names and sentences are other people's: what would steer the terminal is shown as an escape, such as `\\x1b`.
"""

import json
import logging
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

_SECONDS_BETWEEN_LINES = 5.0
_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters other than tab and line end, what turns the direction of writing, and bytes of file names that
are not text, which Python keeps as half characters."""


def plain(text: str) -> str:
    """Return the text with every character that steers a terminal written as an escape.

    >>> plain("\\x1b[31mred\\tand\\n blue")
    '\\\\x1b[31mred\\tand\\n blue'
    """
    return text if text.isprintable() else _STEERING.sub(lambda found: repr(found[0])[1:-1], text)


def say(text: str, flush: bool = False) -> None:
    """Print a result as a line."""
    print(plain(text), flush=flush)


def print_json(value: Any, indent: int | None = 2) -> None:
    """Print a result for machines; without an indent as one line."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    print(_STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], num_text: int = 1) -> None:
    """Print a result for people: the first columns (one, if nothing else is said) are text, the others figures."""
    table = Table(
        title=escape(plain(title)),
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
    )
    for index, column in enumerate(columns):
        table.add_column(escape(plain(column)), justify="left" if index < num_text else "right", overflow="fold")
    for row in rows:
        table.add_row(*(escape(plain(shown(cell))) for cell in row))
    # What is not a terminal is as wide as it needs: a pipe must not fold figures.
    console = _Output() if _Output().is_terminal else _Output(width=200)
    console.print(table)


class _Output(Console):
    def on_broken_pipe(self) -> None:
        """Let the command line end as it does wherever else the reader has gone; rich would end it as a fault."""
        raise BrokenPipeError


def shown(cell: object) -> str:
    """Return a cell as people read it: thousands apart, nothing for what is not known."""
    if cell is None:
        return "–"
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, float):
        return f"{cell:.2f}"
    return str(cell)


def remark(text: str) -> None:
    """Print a line for the person at the terminal."""
    print(plain(text), file=sys.stderr)


@contextmanager
def warnings_as_remarks() -> Iterator[None]:
    """Show what the library logs as remarks while the block runs."""

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            remark(record.getMessage())

    logger, handler = logging.getLogger("sayso"), Handler(logging.WARNING)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def say_next(wrote: str, *commands: str, note: str = "") -> None:
    """Say what was written, then the commands that come next, each on a line to paste, then what no command says."""
    remark(f"wrote {wrote}")
    for command in commands:
        remark(f"next: {command}")
    if note:
        remark(note)


class Stages:
    """Shows the stages of long work: a bar on a terminal, otherwise a line now and then."""

    def __init__(self, bar: Progress | None) -> None:
        self._bar = bar
        self._tasks: dict[str, TaskID] = {}
        self._last = time.monotonic()
        self._began: dict[str, float] = {}

    def __call__(self, what: str, done: int, total: int, note: str = "") -> None:
        """Show that `done` of `total` is behind; a total of 0 is not known. A note may say how fast it goes."""
        if self._bar is None:
            self._print(what, done, total, note)
            return
        note = escape(plain(note))
        if what not in self._tasks:
            self._tasks[what] = self._bar.add_task(escape(plain(what)), total=total or None, note=note)
        self._bar.update(self._tasks[what], completed=done, total=total or None, note=note)

    def _print(self, what: str, done: int, total: int, note: str) -> None:
        now = time.monotonic()
        seconds = now - self._began.setdefault(what, now)
        if now - self._last >= _SECONDS_BETWEEN_LINES:
            self._last = now
            share = f"{what}: {done / total:.0%}" if total else what
            left = f"about {seconds * (total - done) / done:.0f} s left" if total and done and seconds else ""
            remark(", ".join(part for part in (share, note, left) if part))


@contextmanager
def stages() -> Iterator[Stages]:
    """Give something that shows progress on stderr while the block runs."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Stages(None)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        yield Stages(bar)
