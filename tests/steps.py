"""The work of a call, as the number of Python lines executed: grows like time, and is the same on every machine."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def num_steps(call: Callable[[], object]) -> int:
    """Return how many lines are executed; loops in C are not counted."""
    num = 0

    def trace(_frame: FrameType, event: str, _value: Any) -> Any:
        nonlocal num
        num += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return num


def growth(call: Callable[[int], object], size: int) -> float:
    """Return how much the work grows for four times the size: about 4 if linear, about 16 if quadratic."""
    call(1)  # what is made once is made
    return num_steps(lambda: call(4 * size)) / num_steps(lambda: call(size))
