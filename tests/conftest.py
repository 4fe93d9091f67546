"""What all tests share: Hypothesis profiles, the handling of tests that need a GPU, and a working Ctrl-C.

`make test` draws the same examples every time, so that it passes or fails for the code alone; `make fuzz` draws others.
Where tests are started in the background Ctrl-C is ignored, and so it would be in the commands that they start.
"""

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
    # The longest first, so that no process is left alone with one at the end.
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu") and not _has_gpu():
        pytest.skip("needs a GPU that torch and triton can use")


def _has_gpu() -> bool:
    import torch

    from sayso.model.kernels import compiler

    return torch.cuda.is_available() and compiler.IS_THERE
