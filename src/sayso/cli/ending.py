"""How commands are ended from outside, by Ctrl-C or SIGTERM, and what they print where not every character can go.

Both signals unwind the command, so that temporary files are removed and locks released. Exit codes are the shell's:
128 and the number of the signal.
"""

import codecs
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from types import FrameType
from typing import NoReturn

import typer

from sayso.cli.console import remark


class Terminated(KeyboardInterrupt):
    """SIGTERM; where Ctrl-C is caught, this is caught too."""


def interrupted(error: KeyboardInterrupt, text: str = "interrupted") -> typer.Exit:
    """Say how a command ends early, and return the exit that belongs to the signal: 130 for Ctrl-C, 143 for SIGTERM."""
    remark(f"sayso: {text}")
    number = signal.SIGTERM if isinstance(error, Terminated) else signal.SIGINT
    return typer.Exit(128 + number)


@contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM unwind the block as Ctrl-C does; a second one ends the process at once."""
    # Processes that torchrun started may wait for one another in native code, where no handler runs; only the first
    # of them has anything to tidy up.
    is_first = os.environ.get("RANK", "0") == "0"
    if not is_first or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    del frame
    signal.signal(number, signal.SIG_DFL)
    raise Terminated


def print_any_character() -> None:
    """Let a terminal or pipe that cannot take a character get its escape (`\\u2013`) instead of an error.

    The escape is JSON's, so that JSON stays what it says.
    """
    codecs.register_error("json_escape", _escaped)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors in ("strict", "backslashreplace"):
            stream.reconfigure(errors="json_escape")


def _escaped(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end
