"""Print the outcomes of a reproduction as JSON lines for results/: a heading, then one line per run.

python experiments/rows.py reproduction --title "What it shows" --table validation --text "A sentence." > results/9-it.jsonl
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sayso.reproduce.contrast import TAU, Measure, Sample
from sayso.reproduce.folder import RunResult, read_result

Row = dict[str, Any]


def row_of(outcome: RunResult, data: str, changes: Sequence[str] = ()) -> Row:
    """Return the fields of a run that results/ keeps."""
    found = {
        "data": data,
        "data_fingerprint": outcome.data_fingerprint,
        "variant": outcome.variant,
        "seed": outcome.seed,
        "changes": list(changes),
        "validation": outcome.validation,
        "epochs": outcome.epochs,
        "best_epoch": outcome.best_epoch,
        "seconds": outcome.seconds,
        "device": outcome.device,
        "sayso": outcome.sayso,
    }
    if not outcome.is_finished:
        found["diverged"] = outcome.why
    if outcome.test:
        found |= {"test": outcome.test, "tau": taus_of(outcome)}
    return found | ({"weights": outcome.weights} if outcome.weights else {})


def taus_of(outcome: RunResult) -> dict[str, dict[str, dict[str, Row]]]:
    """Return pooled tau and the number of tuples by marks, mechanism and band; None without tuples."""
    sample = Sample([outcome])
    found: dict[str, dict[str, dict[str, Row]]] = {}
    for marks, orders in outcome.orders.items():
        for mechanism in orders.net:
            for band in ("H", "L", "all"):
                measure = Measure(TAU, marks, mechanism, band)
                is_in = sample.in_band(outcome.variant, outcome.seed, measure)
                tuples = sum(num for num, inside in zip(orders.tuples_F, is_in, strict=True) if inside)
                point = sample.value(outcome.variant, outcome.seed, measure).point if tuples else None
                found.setdefault(marks, {}).setdefault(mechanism, {})[band] = {"pooled": point, "num_tuples": tuples}
    return found


def write_rows(path: Path, head: Row, rows: Sequence[Row]) -> None:
    """Write the heading line, then the run lines."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in (head, *rows)))


def main() -> None:
    """Print the lines of one or more reproductions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", metavar="DIR", help="folder of a reproduction")
    parser.add_argument("--title", required=True)
    parser.add_argument("--table", required=True, choices=["validation", "direct"])
    parser.add_argument("--text", action="append", default=[])
    arguments = parser.parse_args()
    print(json.dumps({name: getattr(arguments, name) for name in ("title", "table", "text")}, ensure_ascii=False))
    for folder in arguments.folders:
        summary = json.loads((folder / "reproduction.json").read_text())
        for path in sorted((folder / "outcomes").glob("*.json")):
            outcome = read_result(path)
            if not outcome.label:
                print(json.dumps(row_of(outcome, summary["name"], summary["changes"]), ensure_ascii=False))


if __name__ == "__main__":
    main()
