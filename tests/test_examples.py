"""Generated examples: the same in every `make test`, different in every round of `make fuzz`."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fuzz


def test_the_same_examples_are_drawn_every_time() -> None:
    def drawn() -> list[int]:
        found: list[int] = []

        @given(st.integers())
        def take(number: int) -> None:
            found.append(number)

        take()
        return found

    assert drawn() == drawn()


def test_fuzz_draws_others_in_each_round_until_one_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        rounds.append(command)
        return subprocess.CompletedProcess(command, returncode=len(rounds) == 3)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(sys, "argv", ["fuzz.py", "--seconds", "60", "--seed", "7"])
    assert fuzz.main() == 1
    assert all("--hypothesis-profile=fuzz" in command for command in rounds)
    assert [f"--hypothesis-seed={seed}" in rounds[seed - 7] for seed in (7, 8, 9)] == [True] * 3


def test_fuzz_ends_when_its_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["fuzz.py", "--seconds", "0"])
    assert fuzz.main() == 0
