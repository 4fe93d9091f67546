"""Reads the files of a store's part by an engine whose workers are other processes, in the order of the corpus."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sayso.engine.base import Engine
from sayso.errors import UserError, option
from sayso.input_file import is_pipe
from sayso.readers.file_piece import filled, new_pieces
from sayso.readers.files import files_of
from sayso.readers.read import Tally
from sayso.records import OnProgress
from sayso.store.decisions import Overruled
from sayso.store.group import Lines
from sayso.store.inputs import SentenceFiles
from sayso.store.renumber import Joining, Portion, PortionReader
from sayso.store.vocabulary import Vocabulary

PIECE_BYTES = 16 * 2**20


@dataclass(frozen=True, kw_only=True)
class ElsewhereReader:
    """Has workers read; what they find is joined here, and the same as if it had been read here."""

    files: SentenceFiles
    engine: Engine
    max_tokens: int

    def read(
        self, roles: Sequence[str], vocabulary: Vocabulary, relations: Sequence[str] | None, overruled: Overruled
    ) -> Lines:
        """Return the lines of the roles' files; too many bad lines in one of them are refused at the end.

        Of the role `rest` only judged pairs are taken; what people decided takes the place of what lines claim.
        """
        named = [(name, path) for name, path in self.files.inputs.files() if name.split()[0] in roles]
        if any(is_pipe(path) for _, path in named):
            raise UserError(f"a pipe can be read by this process alone: leave {option('engine')} out, or name a file")
        name_of = {str(file): name for name, path in named for file in filled(path, files_of(path))}
        rest = frozenset(file for file, name in name_of.items() if name == "rest")
        reader = PortionReader(max_tokens=self.max_tokens, relations=relations, overruled=overruled, rest=rest)
        pieces = list(new_pieces([Path(file) for file in name_of], [], "auto", PIECE_BYTES))
        tallies = {name: self.files.tallies.setdefault(name, Tally(path)) for name, path in named}
        joining, num_before = Joining(vocabulary), dict.fromkeys(name_of, 0)
        total = sum(piece.size for piece in pieces)
        for portion in _shown(_in_order(self.engine(reader, pieces)), roles[0], total, self.files.on_progress):
            joining.add(portion)
            overruled.add(portion.overruled)
            _count(tallies[name_of[portion.piece.file]], portion, num_before)
        for tally in tallies.values():
            tally.refuse_too_many_bad(self.files.max_bad_share)
        return joining.lines()


def _in_order(portions: Iterable[Portion]) -> Iterator[Portion]:
    """Yield the portions in the order of the pieces, whatever order they come in."""
    waiting: dict[int, Portion] = {}
    following = 0
    for portion in portions:
        waiting[portion.piece.number] = portion
        while following in waiting:
            yield waiting.pop(following)
            following += 1


def _shown(portions: Iterable[Portion], role: str, total: int, on_progress: OnProgress) -> Iterator[Portion]:
    done = 0
    for portion in portions:
        done += portion.piece.size
        on_progress(f"reading {role}", done, total)
        yield portion


def _count(tally: Tally, portion: Portion, num_before: dict[str, int]) -> None:
    """Count what reading gave, bad lines by their place in the file."""
    file = portion.piece.file
    tally.form = portion.piece.form
    tally.num_good += portion.num_good
    for number, reason in portion.bad:
        tally.count_bad(Path(file), num_before[file] + number, reason)
    num_before[file] += portion.num_lines
