"""An open file of facts written by `sayso extract`, from which the fact that is shown is read."""

from dataclasses import replace
from pathlib import Path
from threading import Lock

from sayso.annotate.decisions import DamagedDecision, decision_on, quote_decisions_on
from sayso.annotate.store import Connection
from sayso.errors import BadInputError
from sayso.facts.fact import DecidedFact, ExtractedFact
from sayso.facts.file import WITHHELD, fact_at, manifest_next_to, refuse_damaged
from sayso.facts.quote import with_decisions
from sayso.input_file import holds_no
from sayso.io.checksum import ChangedError, signature_of
from sayso.readers.base import BadLine
from sayso.readers.files import is_not_blank, read_lines, read_lines_between
from sayso.serve.review.table import ReviewTable


class ExtractedFile:
    """A file of facts and its name in URLs; a fact's record is read when it is shown.

    `threshold` is from the extraction's manifest, or None without one; `threshold_note` states the precision measured
    at it. Some relations may have thresholds of their own. Opening the file checks only the first line.
    """

    def __init__(self, name: str, path: Path) -> None:
        if path.suffix == ".gz":
            fault = "the file is compressed; decompress it first, since facts are read by byte offset"
            raise BadInputError(f"{path}: {fault}")
        refuse_damaged(path)
        if not any(map(is_not_blank, read_lines(path))):
            raise holds_no(path, "facts")
        _fact_between(path, 1, 0, 1)
        self.name = name
        self.path = path
        manifest = manifest_next_to(path)
        self.threshold = _number(manifest.get("threshold"))
        self._thresholds = manifest.get("thresholds") or {}
        self.threshold_note = _threshold_note(self.threshold, manifest.get("threshold_chosen"))
        self._signature: tuple[int, ...] = ()
        self._index: ReviewTable | None = None
        self._lock = Lock()

    @property
    def index(self) -> ReviewTable:
        """The table of facts, built when first needed."""
        with self._lock:
            if self._index is None:
                self._signature = self._now()
                self._index = ReviewTable(self.path)
            return self._index

    def threshold_of(self, relation: str) -> float | None:
        """Return the lowest probability of a fact with this relation; None if unknown."""
        return _number(self._thresholds.get(relation, self.threshold))

    def _now(self) -> tuple[int, ...]:
        return signature_of(self.path.stat()) if self.path.is_file() else ()

    def fact(self, row: int) -> ExtractedFact:
        """Return a fact with its quotes."""
        index = self.index
        if self._now() != self._signature:
            raise ChangedError(f"{self.path}: the file has changed since it was read")
        start, stop = index.start_F1[row : row + 2].tolist()
        return _fact_between(self.path, row + 1, start, stop)

    def fact_with_decisions(
        self, row: int, connection: Connection
    ) -> tuple[ExtractedFact, DecidedFact | DamagedDecision | None]:
        """Return a fact, whose quotes have the decisions on them, and the decision on the fact."""
        fact = self.fact(row)
        quotes = with_decisions(fact.quotes, quote_decisions_on(connection, fact.triple))
        return replace(fact, quotes=quotes), decision_on(connection, fact.triple)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _threshold_note(threshold: float | None, chosen: object) -> str:
    """Describe the threshold and the precision measured when it was chosen; empty if unknown."""
    if threshold is None:
        return ""
    measured = chosen if isinstance(chosen, dict) else {}
    if measured.get("measured_on") == WITHHELD:
        low, high = measured["interval"]
        return (
            f"Thresholds for a precision of {measured['wanted_precision']:g}: expect {measured['precision']:.2f} (90 %:"
            f" {low:.2f} to {high:.2f}) of the new facts to be right, {measured['assumption']}."
        )
    precision, recall = _number(measured.get("precision")), _number(measured.get("recall"))
    if precision is None or recall is None:
        return f"Threshold {threshold:g}; the precision of these facts was not measured."
    return (
        f"Threshold {threshold:.3f}: precision {precision:.2f} and recall {recall:.2f} on validation pairs;"
        " the precision of new facts was not measured and will be lower."
    )


def _fact_between(path: Path, number: int, start: int, stop: int) -> ExtractedFact:
    """Return the fact on the line between two byte offsets."""
    _, text = next(read_lines_between(path, start, stop), (0, BadLine("the line is missing")))
    return fact_at(path, number, text)
