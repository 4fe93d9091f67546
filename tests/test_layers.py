"""Imports point down, the torch-free layers load without torch, and no file is too long."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "sayso"

# Each layer may import itself and the layers above it in this list; `free` layers never load torch.
LAYERS: list[tuple[str, bool]] = [
    ("errors", True),
    ("input_file", True),
    ("tokens", True),
    ("records", True),
    ("seeding", True),
    ("memory", True),
    ("config", True),
    ("configs", True),
    ("io", True),
    ("engine", True),
    ("metrics", True),
    ("readers", True),
    ("invent", True),
    ("documents", True),
    ("embeddings", True),
    ("store", True),
    ("distractors", True),
    ("facts", True),
    ("annotate", True),
    ("features", False),
    ("model", False),
    ("explain", False),
    ("train", False),
    ("evaluate", False),
    ("reproduce", False),
    ("library", False),
    ("extract", False),
    ("project", False),
    ("integrations", False),
    ("serve", True),
    ("cli", True),
]
ORDER = [name for name, _ in LAYERS]
TORCH_FREE = [name for name, is_free in LAYERS if is_free]
TORCH_FREE_MODULES = {"sayso.features.mentions"}
"""Modules of other layers that do not need torch, so torch-free layers may import them."""
MAX_LINES = 300

FILES = sorted(SOURCE.rglob("*.py"))


def layer_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_layers(path: Path) -> set[str]:
    """Return the layers a file imports anywhere, also inside functions and for types only."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: a relative import hides the layer"
            names |= (
                {f"{node.module}.{alias.name}" for alias in node.names} if node.module == "sayso" else {node.module}
            )
    layers = {name.split(".")[1] for name in names if name.startswith("sayso.")}
    return layers & set(ORDER)


@pytest.mark.parametrize("path", [f for f in FILES if f.parent != SOURCE or not f.name.startswith("__")], ids=str)
def test_imports_point_to_layers_above(path: Path) -> None:
    layer = layer_of(path)
    assert layer in ORDER, f"{layer} is no layer: name it in the table"
    below = {name for name in imported_layers(path) if ORDER.index(name) > ORDER.index(layer)}
    assert not below, f"{path} imports {below}, which stand below it"


@pytest.mark.parametrize("path", [f for f in FILES if layer_of(f) in TORCH_FREE], ids=str)
def test_torch_free_layers_import_other_layers_only_inside_functions(path: Path) -> None:
    modules = {node.module for node in ast.parse(path.read_text()).body if isinstance(node, ast.ImportFrom)}
    layers = {module: module.split(".")[1] for module in modules if module and module.startswith("sayso.")}
    others = {module for module, layer in layers.items() if layer in ORDER and layer not in TORCH_FREE}
    assert others <= TORCH_FREE_MODULES, f"{path} imports {others}, which may load torch"


def test_nothing_imports_the_command_line() -> None:
    assert not [path for path in FILES if layer_of(path) not in ("cli", "__main__") and "cli" in imported_layers(path)]


@pytest.mark.parametrize("path", FILES, ids=str)
def test_files_are_short_enough_to_read(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MAX_LINES


def test_torch_free_layers_load_without_torch() -> None:
    modules = [
        ".".join(("sayso", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
        for path in FILES
        if layer_of(path) in TORCH_FREE
    ]
    program = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)\n"
    program += "assert 'torch' not in sys.modules, 'torch was loaded'"
    subprocess.run([sys.executable, "-c", program, "sayso", *modules], check=True)
