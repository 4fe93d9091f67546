"""Measurements for docs/scale.md: sentences per second with one and two workers, bytes, and memory.

    python bench/scale.py

Runs every stage with the local engine and with Ray's, with one and two workers on this machine, and writes
`bench/scale.json`. Rates are measured from the first finished shard to the last, which excludes starting workers,
loading the model and filling its tables (a few seconds, once). CPU time, of all shards but each worker's first, does
not depend on other load on the machine; rates do.
"""

import json
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from drawn import draw_table, make_extractor, save_drawn_model, write_lines
from extract_lines import find_threshold
from measure import SAYSO, machine, run, versions
from sayso.documents import build as building
from sayso.documents.settings import BuildInputs, BuildSettings
from sayso.engine import Engine, EngineSettings, open_local, open_ray
from sayso.extract.run import Output, extract, write_results
from sayso.extract.settings import ExtractInputs, ExtractSettings
from sayso.library import load

RESULTS = Path(__file__).with_name("scale.json")
NUM_SENTENCES, NUM_SHARDS, PIECE_BYTES = 240_000, 24, 2**22
LARGE_SHARDS = 3
"""Shards with eight times the sentences, to measure the memory per sentence."""
DOCUMENTS_A_SHARD = 100
ENGINES: dict[str, tuple[Callable[[EngineSettings], AbstractContextManager[Engine]], int]] = {
    "this process": (open_local, 0),
    "Ray, 1 worker": (open_ray, 1),
    "Ray, 2 workers": (open_ray, 2),
}


class Call(NamedTuple):
    """What a worker reports about a shard in addition to its result."""

    worker: int
    cpu_seconds: float
    peak_mb: float


class Measured:
    """An engine that records when each shard finished, its size, and its cost."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.stages = engine, dict[str, dict[str, float]]()

    def __call__(self, function: Callable[[Any], Any], shards: Iterable[Any]) -> Iterator[Any]:
        """Yield the results."""
        done: list[tuple[float, int, Call]] = []
        for result, call in self.engine(partial(_noted, function), shards):
            done.append((time.perf_counter(), _num_sentences(result), call))
            yield result
        later = [each for index, each in enumerate(done) if each[2].worker in {one[2].worker for one in done[:index]}]
        self.stages[type(function).__name__] = {
            "rate": sum(num for _, num, _ in done[1:]) / (done[-1][0] - done[0][0]),
            "cpu_us": 1e6 * sum(call.cpu_seconds for *_, call in later) / sum(num for _, num, _ in later),
            "peak_mb": max(call.peak_mb for *_, call in done),
        }


def _noted(function: Callable[[Any], Any], shard: Any) -> tuple[Any, Call]:
    began = time.process_time()
    result = function(shard)
    cpu_seconds = time.process_time() - began
    return result, Call(os.getpid(), cpu_seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def _num_sentences(result: Any) -> int:
    if hasattr(result, "num_good"):
        return int(result.num_good)
    return int(result.num_sentences if hasattr(result, "num_sentences") else result.counts["sentences"])


def measure_extract(folder: Path, threshold: float, out: Path, engine: Engine, num_shards: int) -> dict[str, Any]:
    """Return the measurements of gathering and predicting."""
    measured = Measured(engine)
    settings = ExtractSettings(threshold=threshold, num_shards=num_shards, piece_bytes=PIECE_BYTES)
    inputs = ExtractInputs(run=folder / "model", corpus=folder / "lines.jsonl")
    found = extract(inputs, settings, out, engine=measured)
    began = time.process_time()
    write_results(found, Output())
    writing = time.process_time() - began
    return measured.stages | {"facts": found.manifest["num_facts"], "writing": writing}


def measure_build(raw: Path, out: Path, engine: Engine) -> dict[str, float]:
    """Return the measurements of building a corpus."""
    measured = Measured(engine)
    inputs = BuildInputs(
        documents=raw / "documents.jsonl", kb=raw / "kb.tsv", names=raw / "names.tsv", types=raw / "types.json"
    )
    building.build(inputs, BuildSettings(), out, lambda *_: None, engine=measured)
    return measured.stages["ShardBuilder"]


def bytes_of(folder: Path, pattern: str) -> int:
    """Return the total size of the files in bytes."""
    return sum(path.stat().st_size for path in folder.glob(pattern))


def main() -> None:
    """Make a random corpus and model, invent documents, and measure every stage with every engine."""
    os.environ["OMP_NUM_THREADS"] = "1"
    building.SHARD_DOCUMENTS = DOCUMENTS_A_SHARD  # smaller shards than usual, so that each of two workers gets some
    stages: dict[str, dict[str, dict[str, float]]] = {"build": {}, "gather": {}, "predict": {}}
    load_average = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_lines(folder / "lines.jsonl", draw_table(NUM_SENTENCES))
        save_drawn_model(folder / "model", make_extractor("attention"))
        threshold = find_threshold(load(folder / "model"), folder / "lines.jsonl")
        run(SAYSO, "invent", folder / "raw", "--raw", "--size", "demo")
        for number, (engine_name, (opened, num_workers)) in enumerate(ENGINES.items()):
            with opened(EngineSettings(num_workers=num_workers)) as engine:
                stages["build"][engine_name] = measure_build(folder / "raw", folder / f"corpus{number}", engine)
                found = measure_extract(folder, threshold, folder / f"facts{number}", engine, NUM_SHARDS)
                stages["gather"][engine_name], stages["predict"][engine_name] = (
                    found["Gatherer"],
                    found["ShardPredictor"],
                )
                print(engine_name, {stage: each[engine_name] for stage, each in stages.items()}, flush=True)
        with open_ray(EngineSettings(num_workers=1)) as engine:
            large = measure_extract(folder, threshold, folder / "large", engine, LARGE_SHARDS)
        small_mb, large_mb = (each["ShardPredictor"]["peak_mb"] for each in (found, large))
        added = NUM_SENTENCES / LARGE_SHARDS - NUM_SENTENCES / NUM_SHARDS
        result = {
            "machine": machine(),
            "versions": versions(),
            "num_sentences": NUM_SENTENCES,
            "load_average": load_average,
            "stages": stages,
            "input_bytes": bytes_of(folder, "lines.jsonl") / NUM_SENTENCES,
            "shuffled_bytes": bytes_of(folder / "facts0", "gathered/*") / NUM_SENTENCES,
            "facts": found["facts"] / NUM_SENTENCES,
            "fact_us": 1e6 * found["writing"] / found["facts"],
            "fact_bytes": bytes_of(folder / "facts0", "shards/*") / found["facts"],
            "shard_sentences": NUM_SENTENCES / NUM_SHARDS,
            "worker_mb": small_mb,
            "worker_bytes_per_sentence": (large_mb - small_mb) * 2**20 / added,
            "model_mb": bytes_of(folder / "model", "*") / 2**20,
        }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    print(f"wrote {RESULTS}")


if __name__ == "__main__":
    main()
