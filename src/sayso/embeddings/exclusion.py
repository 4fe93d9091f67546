"""Pairs that a knowledge graph must not hold: a graph that knows the test facts gives them away through its vectors."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sayso.errors import BadInputError, LeakageError, option
from sayso.input_file import refuse_pipe
from sayso.readers import READERS
from sayso.readers.base import BadLine, Line
from sayso.readers.files import first_of, read_lines
from sayso.readers.read import Tally, read_sentences
from sayso.records import Triple

Pair = tuple[str, str]
_NUM_NAMED = 3


def unordered(head_id: str, tail_id: str) -> Pair:
    """Return the pair without its direction.

    >>> unordered("b", "a") == unordered("a", "b")
    True
    """
    return (head_id, tail_id) if head_id <= tail_id else (tail_id, head_id)


def read_pairs(paths: Sequence[Path], max_bad: float) -> set[Pair]:
    """Return the unordered entity pairs of files of sentences, or of two tab-separated columns of entity ids."""
    pairs: set[Pair] = set()
    for path in paths:
        pairs.update(unordered(*pair) for pair in _pairs_of(path, max_bad))
    return pairs


@dataclass
class Exclusion:
    """Keeps the facts of some pairs, in either direction, out of a graph, and remembers how many there were."""

    pairs: Collection[Pair]
    num_left_out: int = 0
    named: list[Triple] = field(default_factory=list)

    def keep(self, triples: Iterable[Triple]) -> Iterator[Triple]:
        """Yield the facts of all other pairs."""
        for triple in triples:
            if unordered(triple.head_id, triple.tail_id) not in self.pairs:
                yield triple
                continue
            self.num_left_out += 1
            if len(self.named) < _NUM_NAMED:
                self.named.append(triple)

    def refuse_any(self, path: Path) -> None:
        """Raise `LeakageError` if a fact had to be left out."""
        if self.num_left_out:
            named = "; ".join(" ".join(triple) for triple in self.named)
            raise LeakageError(
                f"{path}: {self.num_left_out:,} facts join an excluded pair (for instance {named});"
                f" leave them out{option('', ' with --drop')}"
            )


def _pairs_of(path: Path, max_bad: float) -> Iterator[Pair]:
    refuse_pipe(path, "pairs to exclude are")
    if _is_pair_file(path):
        yield from _listed_pairs(read_lines(path), path)
        return
    tally = Tally(path)
    for sentence in read_sentences(path, tally):
        yield sentence.pair
    tally.refuse_too_many_bad(max_bad)


def _is_pair_file(path: Path) -> bool:
    text, _ = first_of(read_lines(path))
    # A block of tagged sentences also begins with two columns, so the forms of sentences are asked first.
    return text.count("\t") == 1 and not any(reader.recognises(text) for reader in READERS.values())


def _listed_pairs(lines: Iterable[Line], path: Path) -> Iterator[Pair]:
    for number, text in lines:
        if isinstance(text, BadLine):
            raise BadInputError(f"{path}:{number}: {text.reason}")
        if text.strip():
            columns = text.split("\t")
            if len(columns) != 2 or not all(columns):
                raise BadInputError(f"{path}:{number}: two entity ids with a tab between them are expected")
            yield columns[0], columns[1]
