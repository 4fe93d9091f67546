"""Start-up time: importing the library, and the first help page."""

import subprocess
import sys

from figure import amount, at_most, record
from measure import SAYSO, seconds_of

REPEATS = 7


def seconds(*words: object) -> list[float]:
    """Return the seconds of repeated runs of a program; a first run, which fills the disk cache, does not count."""
    command = list(map(str, words))

    def start() -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    return [seconds_of(start) for _ in range(REPEATS + 1)][1:]


if __name__ == "__main__":
    interpreter = "including the interpreter's own start"
    record(
        [
            amount(
                "start: import sayso", seconds(sys.executable, "-c", "import sayso"), "s", at_most(0.2), interpreter
            ),
            amount("start: sayso --help", seconds(SAYSO, "--help"), "s", at_most(0.5), interpreter),
        ]
    )
