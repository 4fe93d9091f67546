"""The table of GPU tests records which code they ran on, and `make check` warns when that code has changed."""

from pathlib import Path

import pytest

import run_gpu


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    kernel = tmp_path / "src" / "sayso" / "model" / "kernel.py"
    kernel.parent.mkdir(parents=True)
    kernel.write_text("x = 1\n")
    (tmp_path / "tests").mkdir()
    # The marker is split so that this file does not count as a GPU test itself.
    (tmp_path / "tests" / "test_kernel.py").write_text("@" + "needs_gpu\n")
    monkeypatch.setattr(run_gpu, "ROOT", tmp_path)
    monkeypatch.setattr(run_gpu, "PAGE", tmp_path / "page.md")
    return tmp_path


def test_a_warning_comes_once_gpu_code_has_changed_since_its_tests_ran(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def warning() -> str:
        assert run_gpu.check() == 0, "who has no GPU can still work"
        return capsys.readouterr().err

    assert "make test-gpu" in warning(), "they never ran"
    (tree / "page.md").write_text(f"GPU code `{run_gpu.gpu_code()}`\n")
    assert warning() == ""
    (tree / "src" / "sayso" / "cli.py").write_text("y = 1\n")
    assert warning() == "", "this does not run on a GPU"
    for changed in ("src/sayso/model/kernel.py", "tests/test_kernel.py"):
        before = (tree / changed).read_text()
        (tree / changed).write_text(before.replace("\n", " \n"))
        assert "make test-gpu" in warning()
        (tree / changed).write_text(before)
    assert warning() == ""


def test_a_variable_named_like_the_marker_is_no_gpu_test(tree: Path) -> None:
    (tree / "tests" / "test_cluster.py").write_text("needs_gpu = 1\n")
    assert [path.name for path in run_gpu.gpu_tests()] == ["test_kernel.py"]
