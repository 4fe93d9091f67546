"""How a command ends that does not come to its end: interrupted, without a reader, with a full disk."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from command import sayso


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
def test_a_reader_that_has_gone_is_no_fault(corpus: Path, form: tuple[str, ...]) -> None:
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
    assert err == "sayso: the output: no space left on device; make room and try again\n"


def test_ctrl_c_is_said_and_exits_130(corpus: Path, tmp_path: Path) -> None:
    # It reads a pipe that nothing is written to, so it is at work until it is interrupted.
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = begin("check", pipe, stdout=subprocess.DEVNULL)
    with pipe.open("wb") as writing:  # returns when the command has begun to read
        writing.write(corpus.read_bytes())
        writing.flush()
        process.send_signal(signal.SIGINT)
    # The pipe's end wakes it if the signal came just before it began to wait, which Python hears of only afterwards.
    _, err = process.communicate()
    assert (process.returncode, err) == (130, "sayso: interrupted\n")


def test_help_has_an_example_of_the_first_steps() -> None:
    assert "sayso invent demo/corpus && sayso check demo/corpus/train.jsonl" in sayso("--help").stdout
