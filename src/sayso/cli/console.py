"""Output of commands: results on stdout, progress and notes on stderr, exit codes of signals.

Names and sentences are untrusted: control characters are shown as escapes, such as `\\x1b`.
"""

import codecs
import json
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, ProgressColumn, TaskID, TimeRemainingColumn
from rich.table import Table

_SECONDS_BETWEEN_LINES = 5.0
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters except tab and newline, bidirectional overrides, and undecodable bytes of file names."""


def plain(text: str) -> str:
    """Return the text with control characters as escapes.

    >>> plain("\\x1b[31mred\\tand\\n blue")
    '\\\\x1b[31mred\\tand\\n blue'
    """
    return text if text.isprintable() else _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


def say(text: str, flush: bool = False) -> None:
    """Print a result as a line."""
    print(plain(text), flush=flush)


def print_json(value: Any, indent: int | None = 2) -> None:
    """Print a result as JSON, on one line if there is no indent."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    print(_CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def print_result(as_json: bool, value: Any, text: str | Callable[[], None]) -> None:
    """Print a result as JSON, or as human-readable text; `text` may be a function that prints it."""
    if as_json:
        print_json(value)
    elif callable(text):
        text()
    else:
        say(text)


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], num_text: int = 1) -> None:
    """Print a result as a table: the first `num_text` columns are text, the others are numbers."""
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
    # Lines written to a pipe must not be wrapped.
    console = _Output() if _Output().is_terminal else _Output(width=200)
    console.print(table)


class _Output(Console):
    def on_broken_pipe(self) -> None:
        """Exit as for any closed pipe; rich would report a failure."""
        raise BrokenPipeError


def shown(cell: object) -> str:
    """Return a table cell as text: thousands separators, the ends of an interval, a dash for None."""
    if cell is None:
        return "–"
    if isinstance(cell, tuple):
        return f"{cell[0]:.2f} to {cell[1]:.2f}"
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, float):
        return f"{cell:.2f}"
    return str(cell)


def note(text: str) -> None:
    """Print a line to stderr."""
    print(plain(text), file=sys.stderr)


def say_next(wrote: str, *commands: str, hint: str = "") -> None:
    """Print what was written, the next commands to run, and a hint; all go to stderr."""
    if wrote:
        note(f"wrote {wrote}")
    for command in commands:
        note(f"next: {command}")
    if hint:
        note(hint)


def new_path(name: str) -> Path:
    """Return a path for the next command to write: the name, with a number appended to its stem if it is taken."""
    path, number = Path(name), 2
    while path.exists():
        path, number = Path(name).with_stem(f"{Path(name).stem}-{number}"), number + 1
    return path


class Stages:
    """Progress of a long operation: a bar on a terminal, otherwise a line every few seconds."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._tasks: dict[str, TaskID] = {}
        self._last = time.monotonic()
        self._began: dict[str, float] = {}

    def __call__(self, what: str, done: int, total: int, note: str = "") -> None:
        """Show progress; a total of 0 means unknown, and `note` can give the speed."""
        if self._bar.disable:
            self._print(what, done, total, note)
            return
        note = escape(plain(note))
        if what not in self._tasks:
            self._tasks[what] = self._bar.add_task(escape(plain(what)), total=total or None, note=note)
        self._bar.update(self._tasks[what], completed=done, total=total or None, note=note)

    def _print(self, what: str, done: int, total: int, speed: str) -> None:
        now = time.monotonic()
        seconds = now - self._began.setdefault(what, now)
        if now - self._last >= _SECONDS_BETWEEN_LINES:
            self._last = now
            share = f"{what}: {done / total:.0%}" if total else what
            left = f"about {seconds * (total - done) / done:.0f} s left" if total and done and seconds else ""
            note(", ".join(part for part in (share, speed, left) if part))


@contextmanager
def stages() -> Iterator[Stages]:
    """Show progress on stderr while the block runs."""
    with progress_bar("{task.percentage:>3.0f}%", TimeRemainingColumn(), "{task.fields[note]}") as bar:
        yield Stages(bar)


def progress_bar(*columns: str | ProgressColumn) -> Progress:
    """Return a bar on stderr that vanishes at the end of its block; it is disabled if stderr is not a terminal."""
    console = Console(stderr=True)
    shown = ("{task.description}", BarColumn(), *columns)
    return Progress(*shown, console=console, transient=True, disable=not console.is_terminal)


class Terminated(KeyboardInterrupt):
    """SIGTERM, handled like Ctrl-C."""


def interrupted(error: KeyboardInterrupt, text: str = "interrupted") -> typer.Exit:
    """Print that a command was interrupted and return the signal's exit: 130 for Ctrl-C, 143 for SIGTERM."""
    note(f"sayso: {text}")
    number = signal.SIGTERM if isinstance(error, Terminated) else signal.SIGINT
    return typer.Exit(128 + number)


@contextmanager
def resumable(out: Path, option: str = "") -> Iterator[None]:
    """Tell the user how to continue if the block is interrupted; its work so far is in the folder."""
    try:
        yield
    except KeyboardInterrupt as error:
        how = f"continue with the same command{option and f' and {option}'}"
        raise interrupted(error, f"interrupted; the work so far is in {out}: {how}") from None


@contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM unwind the block like Ctrl-C; a second one kills the process."""
    # Under torchrun, processes may wait for each other in native code, where no handler runs; only the first has
    # anything to clean up.
    is_first = os.environ.get("RANK", "0") == "0"
    if not is_first or threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(number: int, _: FrameType | None) -> NoReturn:
        signal.signal(number, signal.SIG_DFL)
        raise Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def print_any_character() -> None:
    """Print characters that the terminal's encoding lacks as JSON escapes (`\\u2013`) instead of failing."""
    codecs.register_error("json_escape", _escaped)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors in ("strict", "backslashreplace"):
            stream.reconfigure(errors="json_escape")


def _escaped(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def about_length(num_too_far_apart: int, num_cut: int) -> Iterator[str]:
    """Yield a note on sentences that are left out, and one on sentences that are cut, because of their length."""
    if num_too_far_apart:
        yield f"{num_too_far_apart:,} sentences left out: their mentions are too far apart"
    if num_cut:
        yield f"{num_cut:,} sentences are too long for the model: words far from both mentions were left out"
