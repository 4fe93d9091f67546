"""A few numbers of a toy run, to check that a change alters no results.

`python tests/train/golden_run.py` regenerates them.
"""

import json
import sys
import tempfile
from pathlib import Path

GOLDEN = Path(__file__).parents[1] / "golden" / "toy_run.json"
VARIANTS = {"CNNs+ATT+F+LD": "attention", "DirectSup+F+LD": "direct"}


def golden_figures(store: Path, folder: Path) -> dict[str, list[dict[str, float]]]:
    """Return the loss terms of two epochs of each variant; with dropout and all other randomness."""
    from sayso.train.config import config_of
    from sayso.train.folder import read_metrics
    from sayso.train.run import train

    found = {}
    for variant, aggregator in VARIANTS.items():
        config = config_of(
            {
                "data": {"mentions": "type"},
                "model": {"encoder": {"kind": "cnn", "cnn": {"num_filters": 8}}, "aggregator": {"kind": aggregator}},
                "loss": {"distractor": 1.0, "direct_sentences": 8},
                "train": {"max_epochs": 2, "batch_bags": 32},
            }
        )
        assert config.variant == variant
        train(config, store, folder / aggregator, "cpu")
        rows = read_metrics(folder / aggregator)
        found[variant] = [{name: row[name] for name in row if name.startswith("loss/")} for row in rows]
    return found


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from train.toy_run import invented_store

    with tempfile.TemporaryDirectory() as work:
        figures = golden_figures(invented_store(Path(work)), Path(work))
    GOLDEN.write_text(json.dumps(figures, indent=2) + "\n")
