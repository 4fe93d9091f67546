"""A pretrained encoder on a CPU: the FB-NYT part, compared with a plain loop of `transformers`.

    python bench/cpu_encoder.py --store stores/fbnyt --markers runs/markers --spans runs/spans \\
        --encoder models/MiniLM --out cpu_encoder.json

The plain loop reads batches of 32 sentences with marked mentions, padded to the longest, in float32, and classifies the
sentence token. Ours is from bags to logits. The runs are trained, so that the cost of lower precision shows.
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from sayso.explain.trained_run import TrainedRun, open_runs
from sayso.metrics.precision_recall import average_precision, precision_recall_curve
from sayso.model.encoders.transformer import TransformerEncoder
from sayso.model.predict import predict_logits
from sayso.records import sentence_key
from sayso.store.store import Store

PLAIN_BATCH, PLAIN_SENTENCES = 32, 1_024
"""How many sentences the plain loop reads: all of them would take minutes."""
LEAST_SECONDS = 5.0


def main() -> None:
    """Measure both runs and the plain loop, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("store", "markers", "spans", "encoder", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    given = parser.parse_args()
    store, found = Store(given.store), {"torch": torch.__version__, "cores": os.cpu_count()}
    for part in ("test", "train"):
        figures: dict[str, Any] = {}
        for reading in ("markers", "spans"):
            (run,) = open_runs([getattr(given, reading)], store, part)
            figures["num_lines"], figures["num_distinct"] = run.table.num_sentences, num_distinct(run)
            if "plain" not in figures:
                figures["plain"] = {"lines_per_second": plain_speed(run, given.encoder)}
            figures |= {f"{reading}, {kind}": measured for kind, measured in measure(run, part == "test").items()}
        found[part] = figures
    given.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=2))


def measure(run: TrainedRun, has_labels: bool) -> dict[str, dict[str, float]]:
    """Return lines per second and AP in float32, in the precision of the training and with 8-bit products."""
    extractor, found = run.model.extractor, {}
    encoder = extractor.encoder
    assert isinstance(encoder, TransformerEncoder)
    trained_in = encoder.precision
    for kind in ("float32", trained_in, "int8"):
        encoder.precision = "float32" if kind == "int8" else kind
        if kind == "int8":
            extractor.quantize()
        seconds, logit_BR = timed(lambda: predict_logits(extractor, run.part))
        found[kind] = {"lines_per_second": run.table.num_sentences / seconds}
        if has_labels:
            curve = precision_recall_curve(logit_BR.ravel(), run.label_BR.ravel())
            found[kind]["average_precision"] = float(average_precision(curve))
    return found


def num_distinct(run: TrainedRun) -> int:
    """Return the number of distinct sentences, where `_` is a space."""
    words, tokens = run.store.words.to_pylist(), run.table.tokens
    return len({sentence_key(" ".join(words[number] for number in tokens.row(row))) for row in range(len(tokens))})


def plain_speed(run: TrainedRun, encoder: Path) -> float:
    """Return lines per second of the plain loop, tokenised beforehand, on sentences drawn at random."""
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(encoder, local_files_only=True)
    network = AutoModel.from_pretrained(encoder, local_files_only=True).eval()
    output = nn.Linear(network.config.hidden_size, len(run.model.relations))
    rows = np.random.default_rng(1).permutation(run.table.num_sentences)[:PLAIN_SENTENCES]
    texts = [marked_text(run, int(row)) for row in rows]
    batches = [
        tokenizer(
            texts[first : first + PLAIN_BATCH], padding=True, truncation=True, max_length=128, return_tensors="pt"
        )
        for first in range(0, len(texts), PLAIN_BATCH)
    ]

    @torch.no_grad()
    def read() -> torch.Tensor:
        return torch.cat([output(network(**batch).last_hidden_state[:, 0]) for batch in batches])

    return len(texts) / timed(read)[0]


def marked_text(run: TrainedRun, row: int) -> str:
    """Return a sentence with markers around its mentions."""
    table = run.table
    words = [run.store.words[number].as_py() for number in table.tokens.row(row).tolist()]
    spans: Sequence[tuple[np.ndarray, str, str]] = [
        (table.head_spans.row(row).reshape(-1, 2), "[unused1]", "[unused2]"),
        (table.tail_spans.row(row).reshape(-1, 2), "[unused3]", "[unused4]"),
    ]
    for places, before, after in spans:
        for first, stop in places.tolist():
            words[first], words[stop - 1] = f"{before} {words[first]}", f"{words[stop - 1]} {after}"
    return " ".join(words)


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the shortest time of a call in seconds, and its result; repeated for some seconds after a warm-up call."""
    result, shortest = call(), float("inf")
    until = time.monotonic() + LEAST_SECONDS
    while time.monotonic() < until or shortest == float("inf"):
        began = time.monotonic()
        call()
        shortest = min(shortest, time.monotonic() - began)
    return shortest, result


if __name__ == "__main__":
    main()
