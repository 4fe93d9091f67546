"""What goes wrong in a way the user can repair.

A `UserError` says where, what and what to do, in one line; the command line prints that line and exits 2.
Everything else that is raised is a bug and shows its traceback.
"""

import re
import shlex

_OPTION = re.compile("\x01(.*?)\x02(.*?)\x03", re.DOTALL)


class UserError(Exception):
    """Something the user can repair; the text is the whole message.

    Where an argument of a function is an option of a command, the text has both (see `option`): `str(error)` names the
    argument, `on_command_line` the option.
    """

    def __str__(self) -> str:
        """Return the message for somebody who calls sayso from Python."""
        return _OPTION.sub(r"\1", super().__str__())

    def on_command_line(self) -> str:
        """Return the message for somebody who types commands."""
        return _OPTION.sub(r"\2", super().__str__())

    @property
    def both(self) -> str:
        """The message with both names in it, for an error that is raised again elsewhere."""
        return super().__str__()


class BadInputError(UserError):
    """A file that cannot be used: missing, empty, cut short, or with too many bad lines."""


class BadConfigError(UserError):
    """A setting that is unknown or out of range."""


class BadArgumentError(UserError, ValueError):
    """What was asked of the model cannot be answered; to Python code it is a `ValueError`."""


class LeakageError(UserError):
    """Training and test data share what they must not share."""


class MissingExtraError(UserError):
    """A feature whose optional library is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an optional library: pip install 'sayso[{extra}]'")


def as_command(*words: object) -> str:
    """Return a command as a user can paste it into a shell: words with spaces are quoted.

    >>> as_command("sayso", "check", "my corpus/train.jsonl")
    "sayso check 'my corpus/train.jsonl'"
    """
    return shlex.join(map(str, words))


def option(argument: str, name: str = "") -> str:
    """Return what a message of a `UserError` calls an argument, and the option (of the same name, if none is given).

    >>> error = UserError(f"2 bad lines: allow more with {option('max_bad_share', '--max-bad')}")
    >>> str(error), error.on_command_line()
    ('2 bad lines: allow more with max_bad_share', '2 bad lines: allow more with --max-bad')
    """
    return f"\x01{argument}\x02{name or '--' + argument.replace('_', '-')}\x03"
