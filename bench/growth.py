"""How cost grows: time and memory by number of sentences, bag size and number of relations.

Writes `bench/growth.json`, from which `docs/make_speed.py` draws its plots. Takes some minutes, so `make bench` leaves
it out.
"""

import ctypes
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from drawn import draw_table, make_extractor, make_part, make_store, save_drawn_model, write_lines
from explain import predict, predict_and_explain
from measure import SAYSO, machine, run, seconds_of, versions
from sayso.store.store import Store
from sayso.train.config import config_of
from sayso.train.data import RunData
from sayso.train.epoch import ProcessShard
from sayso.train.loop import train_epoch
from sayso.train.objective import Objective

OUT = Path(__file__).with_name("growth.json")
SENTENCES = (1_000, 10_000, 100_000, 1_000_000)
MOST_REPEATED = 100_000
"""Above this many sentences, commands are run once; below, the faster of two runs counts."""
BAG_SIZES = (1, 10, 100, 1_000, 5_000)
RELATIONS = (10, 30, 100, 300, 1_000)
NUM_SENTENCES = 5_000
"""Sentences in total, for each bag size and each number of relations."""
THRESHOLD = 0.0125
Point = dict[str, Any]


def point(axis: str, what: str, size: int, seconds: float, megabytes: float) -> Point:
    """Print and return one point of a plot."""
    print(f"{axis:10} {what:22} {size:>9,} {seconds:10.4f} s {megabytes:8.0f} MB", flush=True)
    return {"axis": axis, "what": what, "size": size, "seconds": round(seconds, 6), "megabytes": round(megabytes, 1)}


def watched(call: Callable[[], object], repeats: int = 5) -> tuple[float, float]:
    """Return the seconds of a call's fastest run, and the megabytes by which its peak exceeds the memory before it.

    The fastest run, because other load on the machine only slows runs down.
    """
    ctypes.CDLL(None).malloc_trim(0)  # return free memory to the system, so that the call's own use shows
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    before = _resident("VmRSS")
    seconds = min(seconds_of(call) for _ in range(repeats))
    return seconds, max(_resident("VmHWM") - before, 0.0)


def _resident(name: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


def by_sentences(folder: Path) -> Iterator[Point]:
    """Yield the points for the commands, including start-up, and for an epoch of training."""
    model = folder / "model"
    save_drawn_model(model, make_extractor("attention"))
    for num in SENTENCES:
        table, lines = draw_table(num), folder / "lines.jsonl"
        write_lines(lines, table)
        commands: dict[str, tuple[object, ...]] = {
            "check": ("check", lines),
            "prepare": ("prepare", "--train", lines, "--out", folder / "store", "--overwrite"),
            "predict": ("predict", model, lines, "--threshold", THRESHOLD, "--out", folder / "facts.jsonl"),
            "extract": ("extract", model, lines, "--threshold", THRESHOLD, "--out", folder / "facts"),
        }
        for name, words in commands.items():
            runs = []
            for _ in range(1 if num > MOST_REPEATED else 2):
                shutil.rmtree(folder / "facts", ignore_errors=True)
                runs.append(run(SAYSO, *words))
            yield point("sentences", f"sayso {name}", num, *min(runs))
        make_store(folder / f"drawn-{num}", table)
        yield point("sentences", "an epoch of training", num, *_train(folder / f"drawn-{num}"))


def _train(store: Path) -> tuple[float, float]:
    config = config_of({"train": {"batch_bags": 160}})
    data, extractor = RunData(Store(store), config), make_extractor("attention")
    objective, optimizer = Objective(extractor, config.loss), torch.optim.Adam(extractor.parameters(), lr=1e-3)
    epoch = partial(train_epoch, objective, extractor, optimizer, data, shard=ProcessShard(), on_step=lambda _: None)
    return watched(partial(epoch, epoch=1), repeats=1)


def by_bag_size() -> Iterator[Point]:
    """Yield seconds for one bag of each size."""
    extractor = make_extractor("attention")
    for size in BAG_SIZES:
        num_bags = max(NUM_SENTENCES // size, 1)
        part = make_part(draw_table(num_bags * size, size_B=np.full(num_bags, size)))
        for name, call in (("predict", predict), ("predict and explain", predict_and_explain)):
            call(extractor, part)
            seconds, megabytes = watched(partial(call, extractor, part))
            yield point("bag size", name, size, seconds / num_bags, megabytes)


def by_relations() -> Iterator[Point]:
    """Yield seconds for the same bags with increasing numbers of relations."""
    for num in RELATIONS:
        extractor = make_extractor("attention", num_relations=num)
        part = make_part(draw_table(NUM_SENTENCES, num_relations=num), num)
        for name, call in (("predict", predict), ("predict and explain", predict_and_explain)):
            call(extractor, part)
            yield point("relations", name, num, *watched(partial(call, extractor, part)))


def main() -> None:
    """Measure and write."""
    with tempfile.TemporaryDirectory() as folder:
        points = [*by_bag_size(), *by_relations(), *by_sentences(Path(folder))]
    found = {"machine": machine(), "versions": versions(), "threads": torch.get_num_threads(), "points": points}
    OUT.write_text(json.dumps(found, indent=1) + "\n")
    print(f"wrote {OUT}")


if __name__ == "__main__":
    main()
