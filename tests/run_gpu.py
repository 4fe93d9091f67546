"""Run the tests that need a GPU and write docs/gpu-tests.md: which ones ran, on what, and for which code.

    python tests/run_gpu.py            run them (`make test-gpu`); fails if any fails, is skipped, or if there are none
    python tests/run_gpu.py --check    warn if GPU code has changed since (`make check`)

Needs torch with CUDA, triton, pytest and hypothesis; sayso need not be installed.
"""

import hashlib
import platform
import re
import sys
from collections import Counter, defaultdict
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "gpu-tests.md"
ON_GPU = ("features", "model", "train")
"""Layers that contain code for GPUs."""


def main() -> int:
    """Run or check, and return the exit code."""
    if "--check" in sys.argv[1:]:
        return check()
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
    import pytest

    counts = Counts()
    code = pytest.main(["-m", "gpu", "-q", "-p", "no:cacheprovider", *map(str, gpu_tests())], plugins=[counts])
    total = sum(counts.by_file.values(), Counter())
    if code == 0 and total["passed"] and not total["skipped"]:
        PAGE.write_text(page(counts), encoding="utf-8")
        print(f"wrote {PAGE.relative_to(ROOT)}")
        return 0
    print(f"not written: {dict(total)}", file=sys.stderr)
    return 1


def check() -> int:
    """Warn if GPU code has changed since the page was written."""
    found = re.search(r"GPU code `(\w+)`", PAGE.read_text(encoding="utf-8")) if PAGE.exists() else None
    if found is None or found[1] != gpu_code():
        print("warning: GPU code has changed since its tests last ran on a GPU: make test-gpu", file=sys.stderr)
    return 0


class Counts:
    """A pytest plugin that counts outcomes per test file."""

    def __init__(self) -> None:
        self.by_file: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def pytest_runtest_logreport(self, report) -> None:  # type: ignore[no-untyped-def]
        if report.when == "call" or report.outcome != "passed":
            self.by_file[report.location[0]][report.outcome] += 1


def gpu_tests() -> list[Path]:
    """Return the test files that contain GPU tests."""
    marked = re.compile(r"@needs_gpu|mark\.gpu")
    return [path for path in sorted((ROOT / "tests").rglob("test_*.py")) if marked.search(path.read_text("utf-8"))]


def gpu_code() -> str:
    """Return the fingerprint of all files that GPU tests depend on."""
    return fingerprint([*(ROOT / "src" / "sayso" / layer for layer in ON_GPU), *gpu_tests()])


def fingerprint(paths: list[Path]) -> str:
    """Return a hash of the files, and of those in the folders, with their names."""
    digest = hashlib.sha256()
    files = [file for path in paths for file in (path.rglob("*") if path.is_dir() else [path]) if file.is_file()]
    for file in sorted(file for file in files if "__pycache__" not in file.parts):
        digest.update(f"{file.relative_to(ROOT).as_posix()}\0{file.stat().st_size}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def page(counts: Counts) -> str:
    """Return the page."""
    import torch
    import triton

    whole = fingerprint([ROOT / "src", ROOT / "tests", ROOT / "pyproject.toml"])
    versions = f"torch {torch.__version__}, triton {triton.__version__}, Python {platform.python_version()}"
    rows = [f"| {file} | {count['passed']} |" for file, count in sorted(counts.by_file.items())]
    return "\n".join(
        [
            "# Tests on a GPU",
            "",
            "Written by `make test-gpu`. CI has no GPU, so these tests run by hand whenever GPU code changes;",
            "`make check` warns when this page no longer matches the code.",
            "",
            f"- {torch.cuda.get_device_name()}, {versions}, {datetime.now(UTC):%Y-%m-%d}",
            f"- `src`, `tests` and `pyproject.toml` `{whole}`; GPU code `{gpu_code()}`",
            "",
            "| tests | passed |",
            "|---|---|",
            *rows,
            "",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
