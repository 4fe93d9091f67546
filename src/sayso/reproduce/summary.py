"""The results of all runs as one JSON object, from which documents are made; missing values are None."""

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sayso import __version__
from sayso.evaluate.baselines import baseline_figures, baselines_of
from sayso.evaluate.figures import plain
from sayso.reproduce.claims import check_claims
from sayso.reproduce.contrast import AREA, PRECISION, TAU, Contrast, Measure, Sample, Term, estimate
from sayso.reproduce.folder import RunResult
from sayso.reproduce.paper import AREAS, MECHANISMS, VARIANTS, tau_of
from sayso.reproduce.plan import GRID_VARIANTS, LAMBDA, PlanSettings, RunPlan, num_leaking_pairs
from sayso.store.store import Store

_DIGITS = 6
_OTHER_FIGURES = ("precision_at_100", "precision_at_200", "precision_at_300", "max_f1")


def summarise(
    name: str, store: Store, plan: RunPlan, settings: PlanSettings, results: Mapping[str, RunResult]
) -> dict[str, Any]:
    """Return the tables, curves and claims of the finished runs, and the names of unfinished ones."""
    sample, ran = Sample(results.values()), list(results.values())
    present = [variant for variant in VARIANTS if sample.seeds([variant])]
    mark_sets = list(dict.fromkeys(marks for each in sample.results.values() for marks in each.orders))
    found = {
        "sayso": __version__,
        "name": name,
        "data": _data(store),
        "is_quick": settings.is_quick,
        "changes": list(settings.changes),
        "max_epochs": plan.runs[0].config.train.max_epochs,
        "seeds": sorted({run.config.seed for run in plan.runs}),
        "num_resamples": sample.num_resamples,
        "devices": sorted({each.device for each in ran}),
        "code_fingerprints": sorted({each.code_fingerprint for each in ran}),
        "num_runs": len(ran),
        "train_seconds": sum(each.seconds for each in ran),
        "left_out": plan.left_out,
        "not_done": [run.key for run in plan.runs if run.key not in results],
        "diverged": [
            {"variant": each.variant, "seed": each.seed, "label": each.label, "why": each.why}
            for each in ran
            if not each.is_finished
        ],
        "marks": {marks: _size_of_marks(sample, marks) for marks in mark_sets},
        "extraction": [_extraction(sample, variant) for variant in present],
        "baselines": _baselines(store),
        "explanation": [row for variant in present for row in _explanation(sample, variant, mark_sets)],
        "grid": _grid(ran),
        "curves": {variant: _curve(sample, variant) for variant in present},
        "claims": [
            asdict(each) | {"paper": {"num_as_claimed": each.paper[0], "num": each.paper[1]}}
            for each in check_claims(sample, mark_sets)
        ],
    }
    rounded: dict[str, Any] = json.loads(json.dumps(plain(found)), parse_float=lambda text: round(float(text), _DIGITS))
    return rounded


def _data(store: Store) -> dict[str, Any]:
    manifest = store.manifest
    return {
        "fingerprint": store.fingerprint,
        "parts": manifest["parts"],
        "relations": manifest["relations"],
        "entities": manifest["entities"],
        "word_vector_width": manifest["words"]["vector_width"],
        "test_pairs_in_train": num_leaking_pairs(store),
    }


def _size_of_marks(sample: Sample, marks: str) -> dict[str, int]:
    orders = next(each.orders[marks] for each in sample.results.values() if marks in each.orders)
    return {
        "num_facts": len(orders.bag_F),
        "num_bags": len(set(orders.bag_F)),
        "num_tuples": sum(orders.tuples_F),
    }


def _spread(sample: Sample, variant: str, measure: Measure) -> dict[str, Any]:
    """Return the mean, the standard deviation over seeds, and the interval over seeds and bags."""
    values = [sample.value(variant, seed, measure).point for seed in sample.seeds([variant])]
    known = [value for value in values if value == value]
    found = estimate(sample, [Contrast(variant, (Term(1.0, variant, measure),))], variant)
    return {
        "mean": statistics.fmean(known) if known else None,
        "sd": statistics.stdev(known) if len(known) > 1 else None,
        "low": found.low if found else None,
        "high": found.high if found else None,
        "num_seeds": len(known),
    }


def _extraction(sample: Sample, variant: str) -> dict[str, Any]:
    runs = sample.of_variant(variant)
    return {
        "variant": variant,
        "seeds": [run.seed for run in runs],
        AREA: _spread(sample, variant, Measure(AREA)),
        PRECISION: _spread(sample, variant, Measure(PRECISION)),
        **{name: statistics.fmean(run.test[name] for run in runs) for name in _OTHER_FIGURES},
        "validation": {name: statistics.fmean(run.validation[name] for run in runs) for name in (AREA, PRECISION)},
        "epochs": statistics.fmean(run.epochs for run in runs),
        "seconds": statistics.fmean(run.seconds for run in runs),
        "weights": {name: statistics.fmean(run.weights[name] for run in runs) for name in runs[0].weights},
        "paper": AREAS[variant],
    }


def _baselines(store: Store) -> list[dict[str, Any]]:
    """Return the metrics of the baselines on the test part."""
    test = store.part("test")
    label_BR = test.label_BR(len(store.relations))
    return baseline_figures(baselines_of(store, test), label_BR, store.num_facts_unread("test"))


def _explanation(sample: Sample, variant: str, mark_sets: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "variant": variant,
            "marks": marks,
            "mechanism": mechanism,
            "band": band,
            **_spread(sample, variant, measure),
            **_sizes(sample, variant, measure),
            "paper": tau_of(variant, mechanism, band),
        }
        for marks in mark_sets
        for mechanism in MECHANISMS
        for band in ("H", "L")
        for measure in (Measure(TAU, marks, mechanism, band),)
    ]


def _sizes(sample: Sample, variant: str, measure: Measure) -> dict[str, Any]:
    """Return means over seeds: tuples and bags in the band, and τ with equal weight for every fact."""
    tuples, bags, means = [], [], []
    for seed in sample.seeds([variant]):
        orders = sample.results[variant, seed].orders[measure.marks]
        is_in_F = sample.in_band(variant, seed, measure).tolist()
        rows = zip(is_in_F, orders.tuples_F, orders.bag_F, orders.net[measure.mechanism], strict=True)
        chosen = [(num, bag, net) for is_in, num, bag, net in rows if is_in]
        tuples.append(sum(num for num, _, _ in chosen))
        bags.append(len({bag for _, bag, _ in chosen}))
        means += [statistics.fmean(net / num for num, _, net in chosen)] if chosen else []
    return {
        "num_tuples": statistics.fmean(tuples),
        "num_bags": statistics.fmean(bags),
        "per_fact_mean": statistics.fmean(means) if means else None,
    }


def _grid(results: Sequence[RunResult]) -> list[dict[str, Any]]:
    """Return the validation metrics for each λ with the first seed; the tables' runs are part of the grid."""
    first = min((each.seed for each in results), default=0)
    rows = [
        {
            "variant": each.variant,
            "distractor": each.config["loss"]["distractor"],
            "validation": each.validation or None,
            "is_diverged": not each.is_finished,
        }
        for each in results
        if each.variant in GRID_VARIANTS and each.seed == first
    ]
    has_grid = any(each.label.startswith(LAMBDA) for each in results)
    return sorted(rows, key=lambda row: (row["variant"], row["distractor"])) if has_grid else []


def _curve(sample: Sample, variant: str) -> list[float]:
    """Return the mean precision over seeds, at the recalls that all seeds reach."""
    curves = [run.curve for run in sample.of_variant(variant)]
    return [statistics.fmean(points) for points in zip(*curves, strict=False)]
