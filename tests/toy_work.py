"""What processes do in tests. It has a module of its own, because they import it."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sayso.errors import BadInputError, MissingExtraError


class Work:
    """What the processes do with a number: square it, fail, or be killed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, number: int, send: Callable[[Any], None] = print) -> Any:
        (self.folder / f"{number}.{os.getpid()}").touch()
        return number**2


class Threads(Work):
    def __call__(self, number: int, send: Callable[[Any], None] = print) -> Any:
        return os.environ["OMP_NUM_THREADS"]


class Telling(Work):
    def __call__(self, number: int, send: Callable[[Any], None] = print) -> Any:
        import logging

        send(("half", number))
        logging.getLogger("sayso").warning("seen %s", number)
        return number


class DyingOnce(Work):
    def __call__(self, number: int, send: Callable[[Any], None] = print) -> Any:
        super().__call__(number)
        if number == 3 and len(list(self.folder.glob("3.*"))) == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return number**2


class AlwaysDying(Work):
    def __call__(self, number: int, send: Callable[[Any], None] = print) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)


class Failing(Work):
    def __call__(self, number: int, send: Callable[[Any], None] = print) -> Any:
        if number == 1:
            raise BadInputError("lines.jsonl:7: not JSON")
        if number == 2:
            raise MissingExtraError("drawing", "draw")  # cannot be unpickled
        if number == 3:
            raise OSError(28, "No space left on device", "facts")
        if number == 4:
            raise MemoryError
        raise ZeroDivisionError(f"shard {number}")


class Sleeping(Work):
    def __call__(self, number: int, send: Callable[[Any], None] = print) -> Any:
        super().__call__(number)
        try:
            time.sleep(600)
        finally:
            (self.folder / "cleaned").touch()
