"""One fact in two runs: what each prediction rests on and, sentence by sentence, their ranks and scores."""

from dataclasses import dataclass
from typing import Any

from sayso.serve.predictions.run import ExploredRun
from sayso.serve.predictions.shown import ShownFact, ShownSentence, Stretch, show_fact


@dataclass(frozen=True, kw_only=True)
class Side:
    """A run's part of the comparison; without a fact where the run has not written it down."""

    run: ExploredRun
    fact: dict[str, Any] | None
    shown: ShownFact | None


@dataclass(frozen=True, kw_only=True)
class SharedSentence:
    """A sentence of the bag and what each side says of it."""

    read: list[Stretch]
    sides: tuple[ShownSentence | None, ...]

    @property
    def is_contested(self) -> bool:
        """Whether one side puts it first and the other does not."""
        places = {each.place == 1 for each in self.sides if each}
        return len(places) > 1


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The fact of one bag and relation, side by side; sentences in the order of the first side that has it."""

    sides: tuple[Side, ...]
    sentences: list[SharedSentence]


def compare(
    runs: tuple[ExploredRun, ...], bag: int, relation: str, by: str = "", with_marks: bool = True
) -> Comparison | None:
    """Return the fact as each run sees it, ordered by a mechanism; None where no run has it."""
    sides = tuple(_side(run, bag, relation, by, with_marks) for run in runs)
    leading = next((side.shown for side in sides if side.shown), None)
    if leading is None:
        return None
    by_text = [{each.text: each for each in side.shown.sentences} if side.shown else {} for side in sides]
    sentences = [
        SharedSentence(read=each.read, sides=tuple(known.get(each.text) for known in by_text))
        for each in leading.sentences
    ]
    return Comparison(sides=sides, sentences=sentences)


def _side(run: ExploredRun, bag: int, relation: str, by: str, with_marks: bool) -> Side:
    row = run.index.find(bag, relation)
    fact = None if row is None else run.explanation(row, with_marks).to_dict()
    return Side(run=run, fact=fact, shown=show_fact(fact, by) if fact else None)
