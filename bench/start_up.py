"""How long it takes until something happens: the import of the library and the first help page."""

import subprocess
import sys

from figure import amount, at_most, record
from measure import SAYSO, seconds_of

REPEATS = 7


def seconds(*words: object) -> list[float]:
    """Return the seconds of a program, over and over; the first time fills the disk's cache and does not count."""
    command = list(map(str, words))

    def start() -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    return [seconds_of(start) for _ in range(REPEATS + 1)][1:]


if __name__ == "__main__":
    interpreter = "the interpreter's own start included"
    record(
        [
            amount(
                "start: import sayso", seconds(sys.executable, "-c", "import sayso"), "s", at_most(0.2), interpreter
            ),
            amount("start: sayso --help", seconds(SAYSO, "--help"), "s", at_most(0.5), interpreter),
        ]
    )
