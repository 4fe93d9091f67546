"""What all tests share: Hypothesis profiles, the handling of tests that need a GPU, and a working Ctrl-C.

`make test` draws the same examples every time, so that it passes or fails for the code alone; `make fuzz` draws others.
Where tests are started in the background Ctrl-C is ignored, and so it would be in the commands that they start.
"""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

# Test machines are busy: neither a slow example nor a slow draw is a fault.
_PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("sayso", derandomize=True, **_PATIENT)
settings.register_profile("fuzz", max_examples=500, print_blob=True, **_PATIENT)
settings.load_profile("sayso")
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--presses", type=int, default=300, help="random key presses on the annotation page")
    parser.addoption("--presses-seed", type=int, default=13, help="which ones")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the tests so that every process begins with its share of the slow ones: none is alone with one at the end.

    With `--dist worksteal`, each process is first given one part of the list, of the same length.
    """
    slow = sorted((item for item in items if item.get_closest_marker("slow")), key=_seconds, reverse=True)
    fast = [item for item in items if not item.get_closest_marker("slow")]
    num, left = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")), len(items)
    items.clear()
    for number in range(num):
        share = slow[number::num]
        num_fast = max(0, left // (num - number) - len(share))
        items += share + fast[:num_fast]
        left -= len(share) + num_fast
        fast = fast[num_fast:]
    items += fast


def _seconds(item: pytest.Item) -> int:
    marker = item.get_closest_marker("slow")
    return marker.args[0] if marker and marker.args else 0


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu") and not _has_gpu():
        pytest.skip("needs a GPU that torch and triton can use")


def _has_gpu() -> bool:
    import torch

    from sayso.model.kernels import compiler

    return torch.cuda.is_available() and compiler.IS_THERE
