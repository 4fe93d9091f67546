"""Runs the command line as a user does: in a process of its own."""

import os
import subprocess
import sys


def sayso(*words: object, stdin: bytes | None = None) -> subprocess.CompletedProcess[str]:
    """Return what a command printed and its exit code."""
    program = [sys.executable, "-c", "from sayso.cli import main; main()", *map(str, words)]
    environment = os.environ | {"COLUMNS": "120", "NO_COLOR": "1"}
    result = subprocess.run(program, input=stdin, capture_output=True, env=environment, check=False)
    return subprocess.CompletedProcess(program, result.returncode, result.stdout.decode(), result.stderr.decode())
