"""Errors that the user can fix, and the warnings that the library logs.

The message of a `UserError` is one line: where, what is wrong, and what to do. The command line prints it and exits
with code 2. Any other exception is a bug and shows its traceback.
"""

import logging
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

_OPTION = re.compile("\x01(.*?)\x02(.*?)\x03", re.DOTALL)


class UserError(Exception):
    """An error that the user can fix; its text is the whole message.

    If a function argument is also a command-line option, the text contains both names (see `option`): `str(error)`
    shows the argument, `on_command_line` the option.
    """

    def __str__(self) -> str:
        """Return the message with the names of Python arguments."""
        return _OPTION.sub(r"\1", super().__str__())

    def on_command_line(self) -> str:
        """Return the message with the names of command-line options."""
        return _OPTION.sub(r"\2", super().__str__())

    @property
    def both(self) -> str:
        """The message with both names, for raising it again in another process."""
        return super().__str__()


class BadInputError(UserError):
    """A file that cannot be used: missing, empty, truncated, or with too many bad lines."""


class BadConfigError(UserError):
    """A setting that is unknown or out of range."""


class BadArgumentError(UserError, ValueError):
    """An invalid argument to a model's method; also a `ValueError`."""


class LeakageError(UserError):
    """Training and test data overlap."""


class MissingExtraError(UserError):
    """A feature needs an optional library that is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an optional library: pip install 'sayso[{extra}]'")


@contextmanager
def handled_warnings(handle: Callable[[str], None]) -> Iterator[None]:
    """Call `handle` with each warning that the library logs while the block runs."""

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            handle(record.getMessage())

    logger, handler = logging.getLogger("sayso"), Handler(logging.WARNING)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def import_extra(module: str, feature: str, extra: str) -> Any:
    """Import an optional library; raise `MissingExtraError` if it is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(feature, extra) from error


def reason_of(error: OSError) -> str:
    """Return the operating system's reason, for a message that names the file.

    >>> reason_of(FileNotFoundError(2, "No such file or directory"))
    'no such file or directory'
    """
    return (error.strerror or str(error)).lower()


def as_command(*words: object) -> str:
    """Join words into a command to paste into a shell, quoted if necessary.

    >>> as_command("sayso", "check", "my corpus/train.jsonl")
    "sayso check 'my corpus/train.jsonl'"
    """
    return shlex.join(map(str, words))


def option(argument: str, name: str = "") -> str:
    """Return an argument's name for the message of a `UserError`, with its option name (default: derived from it).

    >>> error = UserError(f"2 bad lines: allow more with {option('max_bad_share', '--max-bad')}")
    >>> str(error), error.on_command_line()
    ('2 bad lines: allow more with max_bad_share', '2 bad lines: allow more with --max-bad')
    """
    return f"\x01{argument}\x02{name or '--' + argument.replace('_', '-')}\x03"
