"""A pretrained encoder on a CPU: the FB-NYT part, compared with a plain loop of `transformers`.

    python bench/cpu_encoder.py --store stores/fbnyt --markers runs/markers --spans runs/spans --encoder models/MiniLM

The plain loop reads batches of 32 sentences with marked mentions, padded to the longest, in float32, and classifies the
sentence token. Ours is from bags to logits. Speed is measured on distinct sentences drawn at random, with all lines of
each: lengths and lines per sentence are those of the part. The runs are trained, so that the cost of lower precision
shows.
"""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import nn

from figure import Figure, amount, at_least, at_most, ratio, record
from measure import side_by_side, threads
from sayso.explain.trained_run import TrainedRun, open_runs
from sayso.metrics.precision_recall import average_precision, precision_recall_curve
from sayso.model.encoders.transformer import TransformerEncoder
from sayso.model.predict import predict_logits
from sayso.records import sentence_key
from sayso.store.store import Store

PLAIN_BATCH, PLAIN_SENTENCES = 32, 512
"""How many lines the plain loop reads: all of them would take minutes."""
DISTINCT = 1_500
"""How many distinct sentences ours reads."""
REPEATS = 2
READINGS = {"test": ("markers", "spans"), "train": ("spans",)}
"""With markers, each training line is read on its own, which takes minutes."""
TARGETS = {
    ("test", "markers"): at_least(2.5),
    ("test", "spans"): at_least(4),
    ("train", "spans"): at_least(8),
}


def main() -> None:
    """Measure both runs and the plain loop on both parts, and record the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("store", "markers", "spans", "encoder"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    given = parser.parse_args()
    folders = {"markers": given.markers, "spans": given.spans}
    store = Store(given.store)
    record(
        [figure for part in READINGS for figure in compare(folders, store, part, given.encoder)]
        + [lost(folder, store, reading) for reading, folder in folders.items()]
    )


def compare(folders: dict[str, Path], store: Store, part: str, encoder: Path) -> list[Figure]:
    """Return the rows of a part: lines per second of each reading with 8-bit products, relative to the plain loop."""
    runs = {reading: quantized(opened(folders[reading], store, part)) for reading in READINGS[part]}
    first = next(iter(runs.values()))
    sentence_N = distinct(first)
    drawn = np.random.default_rng(2).permutation(sentence_N.max() + 1)[:DISTINCT]
    table = first.table.keep_sentences(np.isin(sentence_N, drawn))
    calls: dict[str, Callable[[], object]] = {"plain": plain_loop(first, encoder)}
    for reading, run in runs.items():
        calls[reading] = partial(predict_logits, run.model.extractor, run.as_part(table))
    seconds = side_by_side(calls, REPEATS)
    plain = [PLAIN_SENTENCES / each for each in seconds["plain"]]
    note = (
        f"{threads()}; 8-bit products; {table.num_sentences:,} of {len(sentence_N):,} lines, those of {DISTINCT:,} of"
        f" {sentence_N.max() + 1:,} distinct sentences"
    )
    return [
        ratio(
            f"encoder, {reading} on {part} vs. plain loop",
            [table.num_sentences / each for each in seconds[reading]],
            plain,
            "lines/s",
            TARGETS.get((part, reading)),
            note,
        )
        for reading in runs
    ]


def lost(folder: Path, store: Store, reading: str) -> Figure:
    """Return the row of a run's AP on test: how much is lost by 8-bit products, compared with float32."""
    run = opened(folder, store, "test")
    encoder = run.model.extractor.encoder
    assert isinstance(encoder, TransformerEncoder)
    encoder.precision = "float32"
    single, quarter = test_precision(run), test_precision(quantized(run))
    note = f"AP on test: float32 {single:.2f}, int8 {quarter:.2f}"
    return amount(f"encoder, AP lost by int8, {reading}", [single - quarter], "points", at_most(0.5), note)


def opened(folder: Path, store: Store, part: str) -> TrainedRun:
    """Return a trained run with a part of the store."""
    (run,) = open_runs([folder], store, part)
    return run


def quantized(run: TrainedRun) -> TrainedRun:
    """Return the run after its encoder has changed to 8-bit products."""
    encoder = run.model.extractor.encoder
    assert isinstance(encoder, TransformerEncoder)
    encoder.precision = "float32"
    run.model.extractor.quantize()
    return run


def test_precision(run: TrainedRun) -> float:
    """Return the AP of a run on its part, in points."""
    curve = precision_recall_curve(predict_logits(run.model.extractor, run.part).ravel(), run.label_BR.ravel())
    return 100 * float(average_precision(curve))


def distinct(run: TrainedRun) -> np.ndarray:
    """Return the number of each line's sentence; sentences are equal if they are where `_` is a space."""
    words, tokens = run.store.words.to_pylist(), run.table.tokens
    keys = [sentence_key(" ".join(words[number] for number in tokens.row(row))) for row in range(len(tokens))]
    return np.unique(keys, return_inverse=True)[1]


def plain_loop(run: TrainedRun, encoder: Path) -> Callable[[], object]:
    """Return the plain loop over sentences drawn at random, tokenised beforehand."""
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

    return read


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


if __name__ == "__main__":
    main()
