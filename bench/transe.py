"""TransE vectors compared with pykeen's, on the same facts, held-out facts and ranking.

    python bench/transe.py TRIPLES [--width 100] [--seconds 240] [--threads 2]

Prints filtered MRR (realistic ranks, heads and tails) and CPU seconds of training for each, and the ratios. pykeen
gets `--seconds` of CPU time and is evaluated after half of it and at the end; the better result counts. If pykeen is
not installed, its rows are left out with a note.
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch

from sayso.embeddings.graph import Facts, Graph, hold_out, mean_reciprocal_rank, number_facts, rank_facts
from sayso.embeddings.transe import TransESettings, train_transe
from sayso.readers.tables import read_triples
from sayso.seeding import sub_seed

SEED = 13
PYKEEN: dict[str, dict[str, Any]] = {
    "pykeen, its defaults": {"model": {}, "loop": {}, "optimizer": ("Adam", 1e-3), "batch": 256},
    "pykeen, self-adversarial": {
        "model": {"loss": "nssa", "scoring_fct_norm": 2, "entity_constrainer": None},
        "loop": {"negative_sampler_kwargs": {"num_negs_per_pos": 64}},
        "optimizer": ("Adam", 2e-3),
        "batch": 1024,
    },
    "pykeen, cross-entropy": {
        "model": {"loss": "crossentropy", "scoring_fct_norm": 2, "entity_constrainer": None},
        "loop": {"negative_sampler_kwargs": {"num_negs_per_pos": 64}},
        "optimizer": ("Adagrad", 0.3),
        "batch": 1024,
    },
}
"""pykeen's defaults (one negative, margin loss), the self-adversarial loss, and the loss that we use."""


class Row(NamedTuple):
    """One measurement."""

    name: str
    mrr: float
    seconds: float
    epochs: int


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("triples", type=Path)
    parser.add_argument("--width", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=240.0)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    graph = number_facts(read_triples(arguments.triples))
    own = measure_own(graph, arguments.width)
    print(show(own), flush=True)
    for row in measure_pykeen(graph, arguments.width, arguments.seconds):
        ratios = f"MRR ours / pykeen {own.mrr / row.mrr:.2f}   time pykeen / ours {row.seconds / own.seconds:.2f}"
        print(f"{show(row)}   {ratios}", flush=True)


def show(row: Row) -> str:
    """Return the row as a line of the table."""
    return f"{row.name:26s} filtered MRR {row.mrr:.4f}   {row.seconds:6.1f} CPU s   {row.epochs:3d} epochs"


def measure_own(graph: Graph, width: int) -> Row:
    """Train ours with its defaults; ranking after each epoch counts as training time, since early stopping needs it."""
    started, last = time.process_time(), 0

    def count(epoch: Any) -> None:
        nonlocal last
        last = epoch.number

    vectors = train_transe(graph, TransESettings(width=width, seed=SEED, device="cpu"), count)
    return Row("sayso", vectors.held_out_mrr, time.process_time() - started, last)


def measure_pykeen(graph: Graph, width: int, seconds: float) -> Iterator[Row]:
    """Yield pykeen's best result within the time for each of its settings; ranking does not count as time."""
    try:
        from pykeen.triples import CoreTriplesFactory
    except ImportError:
        print("pykeen is not installed: its rows are left out")
        return
    num_held_out = min(10_000, int(0.02 * len(graph.fact_F3)))
    train_F3, held_F3 = hold_out(graph, num_held_out, sub_seed(SEED, "hold-out"))
    factory = CoreTriplesFactory(torch.from_numpy(train_F3), graph.num_entities, graph.num_relations)
    for name, settings in PYKEEN.items():
        yield max(run_pykeen(name, settings, factory, width, seconds, held_F3, graph), key=lambda row: row.mrr)


def run_pykeen(
    name: str, settings: dict[str, Any], factory: Any, width: int, seconds: float, held_F3: Facts, graph: Graph
) -> Iterator[Row]:
    """Yield a row after half of the time, and one at the end."""
    from pykeen.models import TransE
    from pykeen.training import SLCWATrainingLoop

    model = TransE(triples_factory=factory, embedding_dim=width, random_seed=SEED, **settings["model"])
    optimizer_name, learning_rate = settings["optimizer"]
    optimizer = getattr(torch.optim, optimizer_name)(model.parameters(), lr=learning_rate)
    loop = SLCWATrainingLoop(model=model, triples_factory=factory, optimizer=optimizer, **settings["loop"])
    used, epochs = 0.0, 0
    for part in (seconds / 2, seconds):
        while used < part:
            started, is_begun = time.process_time(), epochs > 0
            epochs += 1
            loop.train(factory, epochs, batch_size=settings["batch"], continue_training=is_begun, use_tqdm=False)
            used += time.process_time() - started
        yield Row(name, pykeen_mrr(model, held_F3, graph), used, epochs)


def pykeen_mrr(model: Any, held_F3: Facts, graph: Graph) -> float:
    """Return the filtered MRR: by our ranking if the model uses our norm, else by the model's own scores."""
    if model.interaction.p == 2:
        entity_ED, relation_RD = (
            table().detach().numpy() for table in (*model.entity_representations, *model.relation_representations)
        )
        return mean_reciprocal_rank(rank_facts(entity_ED, relation_RD, held_F3, graph.fact_F3))
    from pykeen.evaluation import RankBasedEvaluator

    results = RankBasedEvaluator(filtered=True).evaluate(
        model,
        torch.from_numpy(held_F3),
        additional_filter_triples=[torch.from_numpy(graph.fact_F3)],
        batch_size=256,
        use_tqdm=False,
    )
    return float(results.get_metric("both.realistic.inverse_harmonic_mean_rank"))


if __name__ == "__main__":
    main()
