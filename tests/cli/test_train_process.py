"""Training in separate processes: killed, interrupted, several at once."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from command import sayso
from sayso.config import to_toml
from sayso.train.config import LossConfig, RunConfig
from sayso.train.folder import read_metrics
from sayso.train.run import train
from toy_batch import torch_threads
from train.toy_run import invented_store, toy_config, with_labels

pytestmark = pytest.mark.slow

TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Path:
    return invented_store(tmp_path_factory.mktemp("toy"))


def train_words(config: RunConfig, store: Path, out: Path) -> list[object]:
    """Write the config next to `out`, and return the words of the command."""
    path = out.with_suffix(".toml")
    path.write_text(to_toml(config.to_table()))
    return ["train", path, "--data", store, "--out", out]


def start(config: RunConfig, store: Path, out: Path, *words: str, launcher: tuple[str, ...] = ()) -> subprocess.Popen:
    """Start a run as a user does."""
    program = [sys.executable, *launcher, "-m", "sayso", *train_words(config, store, out), *words]
    environment = os.environ | {"NO_COLOR": "1", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [*map(str, program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def train_here(config: RunConfig, store: Path, out: Path) -> None:
    """Train in this process, with one thread, like the processes that `start` starts."""
    with torch_threads(1):
        train(config, store, out, device="cpu")


def finish(process: subprocess.Popen) -> tuple[int, str]:
    _, err = process.communicate(timeout=300)
    return process.returncode, err


def train_in_two_processes(config: RunConfig, store: Path, out: Path) -> tuple[int, str]:
    """Train in two processes with the environment that torchrun would give them, without its start-up time."""
    words = train_words(config, store, out)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}

    def train_as(rank: int) -> subprocess.CompletedProcess[str]:
        return sayso(*words, RANK=str(rank), LOCAL_RANK=str(rank), **shared)

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(train_as, range(2)))
    return max(each.returncode for each in results), "".join(each.stderr for each in results)


def read_until_epoch(process: subprocess.Popen, epoch: int) -> str:
    """Return what was printed up to the end of the epoch."""
    said = ""
    for line in process.stderr:
        said += line
        if line.startswith(f"epoch {epoch:>2}/"):
            return said
    raise AssertionError(f"the run ended before epoch {epoch}: {said}")


def long_run(aggregator: str) -> RunConfig:
    return toy_config(aggregator, max_epochs=15, patience=15)


@pytest.mark.parametrize("aggregator", ["attention", "direct"])
def test_a_run_killed_and_resumed_ends_bit_for_bit_like_one_that_was_not(
    store: Path, tmp_path: Path, aggregator: str
) -> None:
    config = long_run(aggregator)
    train_here(config, store, tmp_path / "straight")
    killed = start(config, store, tmp_path / "killed")
    read_until_epoch(killed, 2)
    killed.kill()
    assert finish(killed)[0] == -signal.SIGKILL
    assert not (tmp_path / "killed" / "model").exists()
    code, err = finish(start(config, store, tmp_path / "killed", "--resume"))
    assert code == 0, err
    assert "continues after epoch" in err
    for name in ("state.safetensors", "model/model.safetensors"):
        a, b = (load_file(tmp_path / run / name) for run in ("straight", "killed"))
        assert a.keys() == b.keys()
        assert all(torch.equal(a[key], b[key]) for key in a)


def test_ctrl_c_keeps_the_last_whole_epoch_says_so_and_exits_130(store: Path, tmp_path: Path) -> None:
    run = start(long_run("attention"), store, tmp_path / "run")
    read_until_epoch(run, 1)
    run.send_signal(signal.SIGINT)
    code, err = finish(run)
    assert code == 130
    message = r"sayso: interrupted; the state after epoch (\d+) is in (.*): continue with the same command and --resume"
    (epoch, folder) = re.fullmatch(message, err.splitlines()[-1]).groups()
    assert folder == str(tmp_path / "run")
    code, err = finish(start(long_run("attention"), store, tmp_path / "run", "--resume"))
    assert code == 0, err
    assert f"continues after epoch {epoch}" in err
    assert len(read_metrics(tmp_path / "run")) == 15


@pytest.mark.parametrize(
    ("config", "has_torchrun"),
    [
        (toy_config("attention", "words", 1.0, entities=True, max_epochs=3), True),
        # One bag a batch: every step has an empty shard.
        (toy_config("direct", "type", 1.0, max_epochs=1, batch_bags=1), False),
        (toy_config("direct", "type_and_words", 1.0, max_epochs=3, batch_bags=31), False),
        (with_labels(toy_config("noisy_or", "words", 0.0, max_epochs=3, batch_bags=29)), False),
        # So few facts are known that the risk of some relations is negative.
        (
            replace(toy_config(max_epochs=3, batch_bags=30), loss=LossConfig(known_share=0.05, compatible_na=0.5)),
            False,
        ),
    ],
    ids=lambda value: (
        ("torchrun" if value else "") if isinstance(value, bool) else f"{value.variant}-{value.train.batch_bags}"
    ),
)
def test_two_processes_have_the_loss_curve_of_one(
    store: Path, tmp_path: Path, config: RunConfig, *, has_torchrun: bool
) -> None:
    train_here(config, store, tmp_path / "one")
    if has_torchrun:
        code, err = finish(start(config, store, tmp_path / "two", launcher=TORCHRUN))
    else:
        code, err = train_in_two_processes(config, store, tmp_path / "two")
    assert code == 0, err
    assert err.count("epoch  1/") == 1
    described = json.loads((tmp_path / "two" / "run.json").read_text())
    assert described["num_processes"] == 2
    one, two = (
        [{name: row[name] for name in row if name.startswith("loss")} for row in read_metrics(tmp_path / run)]
        for run in ("one", "two")
    )
    assert len(one) == config.train.max_epochs
    for a, b in zip(one, two, strict=True):
        assert b == pytest.approx(a, rel=1e-5)


def test_two_processes_that_diverge_say_so_once(store: Path, tmp_path: Path) -> None:
    run = start(toy_config(learning_rate=1e30), store, tmp_path / "run", launcher=TORCHRUN)
    code, err = finish(run)
    assert code != 0
    assert sum(line.startswith("sayso: epoch 1, batch") for line in err.splitlines()) == 1
