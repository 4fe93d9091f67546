"""Errors that the user can fix.

The message of a `UserError` is one line: where, what is wrong, and what to do. The command line prints it and exits
with code 2. Any other exception is a bug and shows its traceback.
"""

import re
import shlex

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
