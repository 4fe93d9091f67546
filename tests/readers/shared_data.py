"""Real files, if they are on this machine."""

import os
from pathlib import Path

import pytest

_FOLDER = Path(os.environ.get("SAYSO_DATA", Path(__file__).parents[2].parent / "shared" / "data"))


def shared(name: str) -> Path:
    """Return the file of that name, or skip the test."""
    path = _FOLDER / name
    if not path.is_file():
        pytest.skip(f"{path} is not here; set SAYSO_DATA to the folder that has {name}")
    return path
