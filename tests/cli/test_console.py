import errno
import fcntl
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time
from array import array
from pathlib import Path

import pytest
from rich.progress import Progress

from command import sayso
from sayso.cli import _about_files, main
from sayso.cli.console import Stages, Terminated, print_any_character, print_json, print_table, say_next, terminable
from sayso.io.atomic import atomic_folder
from script import ROOT


def test_every_command_that_is_printed_with_a_path_is_quoted_for_the_shell() -> None:
    unquoted = re.compile(r"""f["'][^"']*\bsayso [a-z]+ [^"'`]*\{""")
    for path in Path(ROOT / "src").rglob("*.py"):
        found = unquoted.findall(path.read_text())
        assert found == [], f"{path}: put it together with `as_command`"


def test_each_next_command_is_a_line_to_paste_and_a_hint_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    say_next("corpus", "sayso check corpus", "sayso prepare corpus", hint="read the page")
    assert capsys.readouterr().err.splitlines() == [
        "wrote corpus",
        "next: sayso check corpus",
        "next: sayso prepare corpus",
        "read the page",
    ]


def test_only_the_one_helper_writes_next() -> None:
    files = [path.name for path in (ROOT / "src" / "sayso" / "cli").glob("*.py") if "next: " in path.read_text()]
    assert files == ["console.py"]


def test_headings_and_progress_never_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    name = "\x1b[31m \udcff.jsonl"  # as Python reads a file name with a byte that is not UTF-8
    print_table(name, [name], [[name]])
    assert capsys.readouterr().out.count("\\x1b[31m \\udcff.jsonl") == 3
    bar = Progress()
    Stages(bar)(name, 1, 2, name)
    assert [bar.tasks[0].description, bar.tasks[0].fields["note"]] == ["\\x1b[31m \\udcff.jsonl"] * 2


def begin(*words: object, stdout: int) -> subprocess.Popen[str]:
    program = [sys.executable, "-c", "from sayso.cli import main; main()", *map(str, words)]
    return subprocess.Popen(
        program,
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    line = "m.1\tm.2\twindhoek\tnamibia\tNA\twindhoek lies in namibia\t###END###\n"
    (tmp_path / "corpus.txt").write_text(line)
    return tmp_path / "corpus.txt"


@pytest.mark.parametrize("form", [(), ("--json",), ("--help",)], ids=["table", "json", "help"])
def test_a_closed_pipe_is_not_an_error(corpus: Path, form: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = begin("check", corpus, *form, stdout=writing)
    os.close(writing)
    _, err = process.communicate()
    assert (process.returncode, err) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["table", "json"])
def test_a_full_disk_under_the_output_is_one_line(corpus: Path, form: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        process = begin("check", corpus, *form, stdout=full.fileno())
        _, err = process.communicate()
    assert process.returncode == 2
    assert err == "sayso: the output: no space left on device; free some space and try again\n"


def test_a_closed_standard_output_is_a_one_line_error(corpus: Path) -> None:
    program = [sys.executable, "-c", "from sayso.cli import main; main()", "check", str(corpus)]
    result = subprocess.run(program, stderr=subprocess.PIPE, preexec_fn=lambda: os.close(1), check=False)
    expected = b"sayso: standard output is closed; redirect it to a file or to /dev/null\n"
    assert (result.returncode, result.stderr) == (2, expected)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_is_reported_and_has_its_exit_code(corpus: Path, number: int, code: int) -> None:
    # It reads a pipe that nothing is written to, so it is at work until it is interrupted.
    process = begin("check", "-", stdout=subprocess.DEVNULL)
    assert process.stdin
    with process.stdin as writing:
        num_waiting, waiting = 1, array("i", [1])
        writing.write(corpus.read_text())
        writing.flush()
        while num_waiting:  # until the command has begun to read
            time.sleep(0.01)
            fcntl.ioctl(writing, termios.FIONREAD, waiting)
            num_waiting = waiting[0]
        process.send_signal(number)
    # The pipe's end wakes it if the signal came just before it began to wait, which Python hears of only afterwards.
    process.stdin = None
    _, err = process.communicate()
    assert (process.returncode, err) == (code, "sayso: interrupted\n")


def test_sigterm_leaves_no_temporary_folder_and_restores_the_handler(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Terminated), terminable(), atomic_folder(tmp_path / "store"):
        signal.raise_signal(signal.SIGTERM)
    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_second_sigterm_is_not_caught() -> None:
    with terminable():
        with pytest.raises(Terminated):
            signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


@pytest.mark.parametrize("name", ["Zürich – 🗻", "odd \udcff byte"])
def test_unprintable_characters_are_escaped_and_json_stays_valid(monkeypatch, name: str) -> None:
    taken = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(taken, encoding="ascii"))
    print_any_character()
    print_json({"name": name})
    print_table(name, [name], [[name]])
    sys.stdout.flush()
    printed = taken.getvalue().decode("ascii")
    assert json.loads(printed[: printed.index("}") + 1]) == {"name": name}
    assert json.dumps(name)[1:-1] in printed[printed.index("}") :]


def test_a_command_succeeds_on_an_ascii_terminal(corpus: Path, monkeypatch) -> None:
    taken = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(taken, encoding="ascii"))
    monkeypatch.setattr(sys, "argv", ["sayso", "check", str(corpus.rename(corpus.with_name("Zürich.txt")))])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert rb"Z\u00fcrich.txt" in taken.getvalue()


def test_help_has_an_example_of_the_first_steps() -> None:
    assert "sayso invent demo/corpus && sayso check demo/corpus/train.jsonl" in sayso("--help").stdout


AS_SOMEBODY_ELSE = """
import os, sys
from sayso.cli import main

def run(*words):
    sys.argv = ["sayso", *words]
    try:
        main()
    except SystemExit as end:
        return end.code

sys.stdout, printed = open(os.devnull, "w"), sys.stdout
good, locked = sys.argv[1:]
store = f"{os.path.dirname(good)}/store"
assert not run("check", good) and not run("prepare", "--train", good, "--out", store)  # all is loaded
if not os.geteuid():
    os.seteuid(65534)
codes = [
    run("check", locked),
    run("check", good, "--types", locked),
    run("prepare", "--train", locked, "--out", store + "2"),
    run("prepare", "--train", good, "--test", locked, "--out", store + "2"),
]
print(codes, file=printed)
"""


def test_a_file_in_an_inaccessible_folder_is_a_one_line_error(corpus: Path) -> None:
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders may be entered by their owner alone
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copy(corpus, folder)
        locked = folder / "locked"
        locked.mkdir(mode=0)
        program = [sys.executable, "-c", AS_SOMEBODY_ELSE, str(folder / corpus.name), str(locked / "file")]
        result = subprocess.run(program, capture_output=True, text=True, check=False)
    assert result.stdout == "[2, 2, 2, 2]\n", result.stderr
    lines = result.stderr.splitlines()[-4:]
    assert [line for line in lines if not line.startswith(f"sayso: {locked / 'file'}: permission denied")] == []


def test_a_symlink_loop_is_a_one_line_error(corpus: Path, tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    result = sayso("prepare", "--train", corpus, "--out", loop)
    assert (result.returncode, result.stderr) == (2, f"sayso: {loop}: too many levels of symbolic links\n")


def test_an_os_error_is_a_user_error_only_if_it_concerns_files() -> None:
    barred = _about_files(PermissionError(errno.EACCES, "Permission denied", "x/y"))
    assert str(barred) == "x/y: permission denied; choose another file or folder"
    unnamed = _about_files(OSError(errno.EACCES, "Failed to open local file 'x'\nmore"))
    assert str(unnamed) == "system error: Failed to open local file 'x'; choose another file or folder"
    assert _about_files(OSError(errno.ECHILD, "No child processes")) is None
