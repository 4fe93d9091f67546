"""Results of imaginary runs, with any metrics."""

from collections.abc import Callable

import numpy as np

from sayso.reproduce.contrast import AREA, PRECISION
from sayso.reproduce.folder import DIVERGED, FINISHED, FactOrders, RunResult
from sayso.reproduce.paper import MECHANISMS, VARIANTS, variant_config
from sayso.reproduce.plan import PlannedRun

NUM_RESAMPLES = 200
NUM_FACTS = 40
TUPLES = 10

SHARED = np.random.default_rng(0).normal(0.0, 0.01, NUM_RESAMPLES)
"""What resampling the pairs does to every run alike."""

Figure = Callable[[str], float]


def make_result(
    variant: str,
    seed: int,
    area: float = 0.3,
    precision: float = 0.5,
    tau: float = 0.2,
    label: str = "",
) -> RunResult:
    """Return a finished run with these metrics; facts are in H and L alternately, and τ on L is 0."""
    noise = np.random.default_rng([seed, *variant.encode()])
    moved = {AREA: area + noise.normal(0.0, 0.002), PRECISION: precision + noise.normal(0.0, 0.002)}
    config = variant_config(variant, [f"seed={seed}"])
    is_high = np.arange(NUM_FACTS) % 2 == 0
    net = {
        name: np.where(is_high, np.round(TUPLES * tau + noise.normal(0.0, 1.0, NUM_FACTS)), 0).clip(-TUPLES, TUPLES)
        for name in MECHANISMS
    }
    return RunResult(
        key=PlannedRun(variant=variant, config=config, label=label).key,
        variant=variant,
        seed=seed,
        label=label,
        config=config.to_table(),
        data_fingerprint="feed",
        status=FINISHED,
        validation={AREA: area, PRECISION: precision},
        test=moved | {f"precision_at_{k}": 0.9 for k in (100, 200, 300)} | {"max_f1": 0.5},
        resampled={
            kind: (value + SHARED + noise.normal(0.0, 0.001, NUM_RESAMPLES)).tolist() for kind, value in moved.items()
        },
        curve=np.linspace(1.0, 1.0 - precision, 80).tolist(),
        orders={
            "readers": FactOrders(
                bag_F=list(range(NUM_FACTS)),
                probability_F=np.where(is_high, 0.9, 0.1).tolist(),
                tuples_F=[TUPLES] * NUM_FACTS,
                net={name: column.astype(int).tolist() for name, column in net.items()},
            )
        },
        weights={},
        epochs=10,
        best_epoch=8,
        seconds=12.5,
        device="cpu",
        sayso="0.0",
        code_fingerprint="c0de",
    )


def make_results(
    area: Figure = lambda _: 0.3, precision: Figure = lambda _: 0.5, tau: Figure = lambda _: 0.2, num_seeds: int = 3
) -> dict[str, RunResult]:
    """Return three runs of every variant, with metrics that depend on the variant."""
    runs = [
        make_result(variant, seed, area(variant), precision(variant), tau(variant))
        for variant in VARIANTS
        for seed in range(13, 13 + num_seeds)
    ]
    return {run.key: run for run in runs}


def diverged(result: RunResult) -> RunResult:
    """Return the same run without metrics, as diverged."""
    bare = {"validation": {}, "test": {}, "resampled": {}, "curve": [], "orders": {}}
    return RunResult(**(vars(result) | bare | {"status": DIVERGED, "why": "epoch 1, batch 3: the loss is nan"}))
