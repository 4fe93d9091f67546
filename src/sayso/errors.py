"""What goes wrong in a way the user can repair.

A `UserError` says where, what and what to do, in one line; the command line prints that line and exits 2.
Everything else that is raised is a bug and shows its traceback.
"""

import shlex


class UserError(Exception):
    """Something the user can repair; the text is the whole message."""


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
