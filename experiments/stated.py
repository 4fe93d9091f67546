"""Do mechanisms fail on facts that are stated several times? τ by number of sentences that state the fact.

Uses the outcomes of `sayso reproduce`; nothing is trained.

    python experiments/stated.py --data stores/invented --reproduction runs/invented --name "invented corpus" \\
        --out results/10-stated.jsonl
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rows import Row, row_of, write_rows

from sayso.metrics.rationale import BANDS, IRRELEVANT, RATIONALE
from sayso.reproduce.folder import FactOrders, RunResult, read_result
from sayso.store.marks import SentenceMarks, marks_of_store
from sayso.store.store import Store

GROUPS = {"one": (1, 1), "two": (2, 2), "three or more": (3, 1_000_000)}
"""Number of sentences that state the fact."""


def num_stating(marks: SentenceMarks, bag_N: np.ndarray, orders: FactOrders) -> np.ndarray:
    """Return the number of rationale sentences of each fact with a tuple, in the order of the outcomes."""
    counts: dict[tuple[int, int], list[int]] = {}
    for (sentence, relation), mark in marks.by_sentence.items():
        count = counts.setdefault((int(bag_N[sentence]), relation), [0, 0])
        count[0] += mark == RATIONALE
        count[1] += mark == IRRELEVANT
    facts = [(bag, *counts[bag, relation]) for bag, relation in sorted(counts) if all(counts[bag, relation])]
    bags, stating, others = zip(*facts, strict=True)
    same = list(bags) == orders.bag_F and [a * b for a, b in zip(stating, others, strict=True)] == orders.tuples_F
    assert same, "the outcomes were computed with different marks"
    return np.array(stating)


def groups_of(orders: FactOrders, stating_F: np.ndarray) -> Iterator[Row]:
    """Yield τ of each mechanism on H and L for the facts of each group."""
    probability_F, tuples_F = np.array(orders.probability_F), np.array(orders.tuples_F)
    for band in ("H", "L"):
        for group, (least, most) in GROUPS.items():
            is_in_F = BANDS[band].holds(probability_F) & (least <= stating_F) & (stating_F <= most)
            total = int(tuples_F[is_in_F].sum())
            for mechanism, net in orders.net.items():
                tau = float(np.array(net)[is_in_F].sum() / total) if total else None
                yield {"band": band, "stating": group, "mechanism": mechanism, "tau": tau, "num_tuples": total}


def main() -> None:
    """Parse the arguments, read the outcomes, and write a line per run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--reproduction", type=Path, required=True, help="folder written by `sayso reproduce`")
    parser.add_argument("--name", required=True, help="name of the data in tables")
    parser.add_argument("--out", type=Path, required=True, help="JSON lines file to write")
    parser.add_argument("--variants", default="CNNs+ATT,DirectSup")
    parser.add_argument("--text", action="append", default=[])
    arguments = parser.parse_args()
    store = Store(arguments.data)
    marks, bag_N = marks_of_store(store, "test"), store.part("test").bag_N
    changes = json.loads((arguments.reproduction / "reproduction.json").read_text())["changes"]
    rows = []
    for outcome in outcomes_of(arguments.reproduction, arguments.variants.split(",")):
        assert outcome.data_fingerprint == store.fingerprint, "the outcomes belong to a different store"
        (orders,) = outcome.orders.values()
        found = row_of(outcome, arguments.name, changes)
        del found["tau"]
        rows.append(found | {"groups": list(groups_of(orders, num_stating(marks, bag_N, orders)))})
    head = {"title": "How often a fact is stated, and τ", "table": "stated", "text": arguments.text}
    write_rows(arguments.out, head, rows)
    print(f"wrote {arguments.out}; next: make docs")


def outcomes_of(folder: Path, variants: list[str]) -> Iterator[RunResult]:
    """Yield the finished runs of these variants, without the grid."""
    for path in sorted((folder / "outcomes").glob("*.json")):
        outcome = read_result(path)
        if outcome.is_finished and not outcome.label and outcome.variant in variants:
            yield outcome


if __name__ == "__main__":
    main()
