"""Imports the tested programs of bench/, which import each other because they are in the same folder.

The folder does not stay on the path: its `explain.py` would hide the tests' own folder of that name.
"""

import importlib
import sys
from pathlib import Path

FOLDER = str(Path(__file__).parent.parent.parent / "bench")

sys.path.append(FOLDER)
for _name in ("figure", "reference.padded", "reference.no_padding", "drawn", "training", "gpu_training"):
    importlib.import_module(_name)
sys.path.remove(FOLDER)
