"""The command line: one file per command, which parses the options, calls one function and prints.

Exit codes: 0 success, 1 a bug, 2 a user error, 130 Ctrl-C, 143 SIGTERM.
"""

import errno
import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from sayso import __version__
from sayso.cli.annotations import app as annotations
from sayso.cli.backup import backup, restore
from sayso.cli.build import build
from sayso.cli.console import interrupted, note, print_any_character, terminable
from sayso.cli.corpus import check, invent
from sayso.cli.decisions import app as decisions
from sayso.cli.embeddings import entities, vectors
from sayso.cli.evaluate import evaluate
from sayso.cli.explain import explain
from sayso.cli.extract import extract
from sayso.cli.predict import export, predict
from sayso.cli.prepare import prepare
from sayso.cli.project import new, run
from sayso.cli.reproduce import reproduce
from sayso.cli.score import score
from sayso.cli.serve import serve
from sayso.cli.train import train
from sayso.errors import UserError, handled_warnings

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_UNUSABLE = frozenset(
    {errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.EROFS, errno.EIO}
)
"""Operating system errors that the user can fix."""


RENAMED = {
    "--judgements": "--decisions",
    "--rationales": "--marks",
    "--form judgements": "--format decisions",
    "--form remarks": "--format comments",
    "--form": "--format (of an export) or --input-format (of sentences)",
}
"""Options renamed since 0.1; longer ones come first."""


class _Commands(TyperGroup):
    """The commands; each reports a failure in one line."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Raise `UserError` for a renamed option, with its new name."""
        given = f" {' '.join(args)} ".replace("=", " ")
        for old, now in RENAMED.items():
            if f" {old} " in given:
                raise UserError(f"{old} is now called {now}")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; a closed pipe (`| head`) is not an error, and a full disk is a user error."""
        if sys.stdout is None:  # before any work: its result would be lost
            raise UserError("standard output is closed; redirect it to a file or to /dev/null")
        try:
            with handled_warnings(note):
                result = super().invoke(ctx)
            sys.stdout.flush()
        except KeyboardInterrupt as error:
            raise interrupted(error) from None
        except BrokenPipeError:
            _forget_output()
            raise typer.Exit from None
        except OSError as error:
            if not (user_error := _about_files(error)):
                raise
            raise user_error from error
        except RuntimeError as error:
            if not str(error).startswith("Symlink loop"):  # pathlib's message before Python 3.13
                raise
            raise UserError(
                f"{str(error).partition(' from ')[2].strip(chr(39))}: too many levels of symbolic links"
            ) from error
        return result


class _Command(TyperCommand):
    """A command that refuses an empty path, which would mean the current folder."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; raise `UserError` for an empty path."""
        given = self.make_parser(ctx).parse_args(args=list(args))[0]
        rest = super().parse_args(ctx, args)
        for param in self.params:
            value, words = _listed(ctx.params.get(param.name)), _listed(given.get(param.name))
            if "" in words and isinstance(value[0], Path):
                name = next((each for each in param.opts if each.startswith("--")), param.metavar or param.name)
                raise UserError(f"{name}: the path is empty; expected a file or folder")
        return rest

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the argument names without typer's braces."""
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _about_files(error: OSError) -> UserError | None:
    """Return the user error for an operating system error, or None if it is a bug."""
    if error.errno in _FULL:
        _forget_output()
        return UserError(
            f"{error.filename or 'the output'}: {os.strerror(error.errno).lower()}; free some space and try again"
        )
    if error.errno in _UNUSABLE:
        # pyarrow names the file in the message.
        reason = os.strerror(error.errno).lower() if error.filename else str(error.strerror).partition("\n")[0]
        return UserError(f"{error.filename or 'system error'}: {reason}; choose another file or folder")
    return None


def _forget_output() -> None:
    """Discard the rest of the output, so that Python does not fail to flush it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


app = typer.Typer(
    name="sayso",
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # rich's option tables truncate names in a narrow terminal.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

_MAKING = (new, run, invent, build, check, prepare, train)
_USING = (predict, extract, score, evaluate, explain, export, serve, backup, restore, reproduce)
COMMANDS: dict[str, Callable[..., None]] = {command.__name__: command for command in (*_MAKING, *_USING)}
"""The commands, in workflow order."""

GROUPS = {"vectors": vectors, "entities": entities, "annotations": annotations, "decisions": decisions}


def _summary(command: Callable[..., Any]) -> str:
    """Return the whole first paragraph of a command's help, which click would truncate."""
    return " ".join((inspect.getdoc(command) or "").partition("\n\n")[0].split())


for _name, _command in COMMANDS.items():
    app.command(_name, cls=_Command, short_help=_summary(_command))(_command)
for _name, _group in GROUPS.items():
    for _info in _group.registered_commands:
        assert _info.callback
        _info.cls, _info.short_help = _Command, _summary(_info.callback)
    app.add_typer(_group, name=_name, short_help=str(_group.info.help))


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"sayso {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    """Extract facts from text and show which sentences say so.

    Try it on an invented corpus:

        sayso invent demo/corpus && sayso check demo/corpus/train.jsonl
    """


def main() -> None:
    """Run the command line; a user error is reported in one line, with exit code 2."""
    print_any_character()
    try:
        with terminable():
            # With `python -m sayso`, shell completion would otherwise be installed for the wrong command name.
            app(prog_name="sayso")
    except UserError as error:
        note(f"sayso: {error.on_command_line()}")
        raise SystemExit(2) from None
    except SystemExit as end:
        # typer reports a failure if the reader of the help closes the pipe (`| head`).
        if isinstance(end.__context__, BrokenPipeError):
            raise SystemExit(0) from None
        raise
