"""What the runs say about the sentences of a fact, for somebody who has submitted their own marks."""

from dataclasses import dataclass

from sayso.serve.bag_fact import BagFact
from sayso.serve.state import Workbench


@dataclass(frozen=True, kw_only=True)
class RunScores:
    """One run's scores of the sentences, in the order of the bag, by the mechanism that ranks them.

    `shares` are of the highest score, for bars; a negative score has none.
    """

    run: str
    mechanism: str
    probability: float
    ranks: list[int]
    scores: list[float]
    shares: list[float]


def run_scores(bench: Workbench, shown: BagFact) -> list[RunScores]:
    """Return the scores of every run that has written the fact down."""
    found = []
    for run in bench.explored.values():
        row = run.index.find(shown.number, shown.relation.name)
        if row is None:
            continue
        fact = run.fact(row)
        columns = {
            name: run.predictions.evidence[name].slice(fact["first_evidence"], fact["num_sentences"]).to_pylist()
            for name in ("sentence", "rank", f"score.{run.ranked_by}")
        }
        rows = sorted(zip(*columns.values(), strict=True))
        scores = [score for _, _, score in rows]
        peak = max(map(abs, scores)) or 1.0
        found.append(
            RunScores(
                run=run.name,
                mechanism=run.ranked_by,
                probability=fact["probability"],
                ranks=[rank for _, rank, _ in rows],
                scores=scores,
                shares=[max(0.0, score / peak) for score in scores],
            )
        )
    return found
