"""What one finished run leaves: a JSON file, written whole, from which every table and claim is made.

Shapes: F facts of a set of marks that have a tuple, K resamples of the test part's bags.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sayso.io.atomic import atomic_file
from sayso.io.json_file import read_record, to_json

FINISHED, DIVERGED = "finished", "diverged"
RECALLS = [percent / 100 for percent in range(101)]
"""Where a curve is kept."""


@dataclass(frozen=True, kw_only=True)
class FactOrders:
    """How each mechanism orders the tuples of each marked fact: concordant minus discordant ones."""

    bag_F: list[int]
    probability_F: list[float]
    tuples_F: list[int]
    net: dict[str, list[int]]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A run's identity and figures; one that diverged has a reason and no figures.

    `resampled` holds the test part's area and average precision in each of K resamples of its bags, the same ones for
    every run, so that differences between runs are paired. `curve` is precision at evenly spaced recalls.
    """

    key: str
    variant: str
    seed: int
    label: str
    config: dict[str, Any]
    data_fingerprint: str
    status: str
    why: str = ""
    validation: dict[str, float]
    test: dict[str, Any]
    resampled: dict[str, list[float | None]]
    curve: list[float]
    orders: dict[str, FactOrders]
    weights: dict[str, float]
    epochs: int
    best_epoch: int
    seconds: float
    device: str
    sayso: str
    code_fingerprint: str

    @property
    def is_finished(self) -> bool:
        """Whether it has figures."""
        return self.status == FINISHED


def write_outcome(path: Path, outcome: Outcome) -> None:
    """Write the file whole or not at all."""
    with atomic_file(path) as file:
        file.write(to_json(asdict(outcome)) + "\n")


def read_outcome(path: Path) -> Outcome:
    """Return what `write_outcome` wrote."""
    return read_record(path, Outcome, "the outcome of a run", "remove it, and the run is made again")
