"""Runs the command line as a user does: in its own process."""

import inspect
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import get_args

_COMMANDS = (
    *("sayso.cli", "sayso.annotate.decisions", "sayso.annotate.marks", "sayso.documents.build", "sayso.facts.export"),
    *("sayso.invent.raw", "sayso.readers.survey", "sayso.serve.app", "sayso.serve.server", "sayso.store.prepare"),
    *("sayso.evaluate.report", "sayso.extract.run", "sayso.library", "sayso.model.kernels.numba_kernel"),
    *("sayso.train.folds", "sayso.train.seeds"),
)
"""Modules that commands import when they run; the last two rows import torch, which takes seconds."""

# A module that has moved would be passed over in silence, and imported by every command again.
assert all(map(find_spec, _COMMANDS))
_FORKED = get_context("forkserver")
# pytest, because a child imports the program that started it.
_FORKED.set_forkserver_preload([*_COMMANDS, "pandas", "pytest", "rich.table", "scipy.special", "typer._adapters"])


def sayso(
    *words: object, stdin: bytes | None = None, folder: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Return the output and exit code of a command, from a process that need not import everything again.

    It runs in `folder` (default: the current one) with these additional environment variables. All these processes
    share Python's hash seed; to test that results do not depend on it, use `sayso_process`.
    """
    with tempfile.TemporaryDirectory() as name:
        printed = [Path(name) / "stdout", Path(name) / "stderr"]
        reader, writer = _FORKED.Pipe(duplex=False)
        arguments = ([*map(str, words)], _environment() | environment, folder or Path.cwd(), reader, printed)
        process = _FORKED.Process(target=_run, args=arguments)
        process.start()
        reader.close()
        _feed(writer, stdin or b"")
        process.join()
        out, err = (path.read_bytes().decode() for path in printed)
    assert process.exitcode is not None
    return subprocess.CompletedProcess(["sayso", *map(str, words)], process.exitcode, out, err)


def sayso_process(*words: object, stdin: bytes | None = None) -> subprocess.CompletedProcess[str]:
    """Return the output and exit code of a command, from a newly started Python."""
    program = [sys.executable, "-c", "from sayso.cli import main; main()", *map(str, words)]
    result = subprocess.run(program, input=stdin, capture_output=True, env=_environment(), check=False)
    return subprocess.CompletedProcess(program, result.returncode, result.stdout.decode(), result.stderr.decode())


def choices(command: Callable[..., object], option: str) -> list[str]:
    """Return the values that an option of a command takes."""
    annotation = get_args(inspect.signature(command).parameters[option].annotation)[0]
    kinds = get_args(annotation) if type(None) in get_args(annotation) else (annotation,)
    return list(get_args(kinds[0]))


def _environment() -> dict[str, str]:
    return os.environ | {"COLUMNS": "120", "NO_COLOR": "1"}


def _feed(pipe: "Connection[bytes, bytes]", data: bytes) -> None:
    with open(os.dup(pipe.fileno()), "wb", buffering=0) as file:
        pipe.close()
        try:
            while data:
                data = data[file.write(data) :]
        except BrokenPipeError:  # the command has ended without reading all
            pass


def _run(
    words: list[str], environment: dict[str, str], folder: Path, stdin: "Connection[bytes, bytes]", printed: list[Path]
) -> None:
    """Run the command; called in its own process."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    os.dup2(stdin.fileno(), 0)
    stdin.close()
    for number, path in enumerate(printed, start=1):
        file = os.open(path, os.O_WRONLY | os.O_CREAT)
        os.dup2(file, number)
        os.close(file)
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    sys.argv = ["sayso", *words]
    from sayso.cli import main

    main()
