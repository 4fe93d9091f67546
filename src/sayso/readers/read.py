"""Read the sentences of a file in any known format, counting bad lines."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path

from sayso.errors import BadInputError, as_command, option
from sayso.input_file import holds_no
from sayso.readers import READERS
from sayso.readers.base import BadLine, Line, Reader, SentenceItem, kind_of_fault
from sayso.readers.files import OnBytes, files_of, is_not_blank, read_lines
from sayso.records import Sentence

MAX_BAD_SHARE = 0.001
MARKS = "marks"
"""`Tally.form` for counting marks instead of sentences."""
_NUM_SHOWN = 20
_NUM_LINES_LOOKED_AT = 10


@dataclass
class Tally:
    """Counts of the sentences and bad lines in a file, with the reasons."""

    path: Path
    form: str = "auto"
    num_good: int = 0
    num_bad: int = 0
    shown: list[str] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)

    def count_bad(self, file: Path, number: int, reason: str) -> None:
        """Count a bad line; keep the first few for display."""
        self.num_bad += 1
        self.reasons[kind_of_fault(reason)] += 1
        if len(self.shown) < _NUM_SHOWN:
            self.shown.append(f"{file}:{number}: {reason}")

    def num_bad_with(self, words: str) -> int:
        """Return the number of bad lines whose reason contains these words."""
        return sum(count for reason, count in self.reasons.items() if words in reason)

    def has_too_many_bad(self, max_share: float) -> bool:
        """Return whether more than this fraction of the lines are bad."""
        return self.num_bad > max_share * (self.num_good + self.num_bad)

    def refuse_too_many_bad(self, max_share: float) -> None:
        """Raise `BadInputError` with the first bad line if more than this fraction of the lines are bad."""
        if self.has_too_many_bad(max_share):
            # `sayso check` reads sentences only.
            see = "" if self.form == MARKS else f"see `{as_command('sayso', 'check', self.path)}`, or "
            raise BadInputError(
                f"{self.shown[0]} ({self.num_bad:,} of {self.num_good + self.num_bad:,} lines are bad, more than"
                f" {max_share:.2%}: {see}allow more with {option('max_bad_share', '--max-bad')})"
            )


def read_sentences(
    path: Path,
    tally: Tally,
    relations: Collection[str] | None = None,
    on_bytes: OnBytes | None = None,
) -> Iterator[Sentence]:
    """Yield the sentences in a file or a folder of shards, counting them in the tally.

    If the tally's form is `auto`, it is set to the format detected from the first lines. With `relations`, a sentence
    with any other relation is a bad line.
    """
    num_before = 0
    for file in files_of(path):
        on_file = partial(reported, on_bytes, num_before) if on_bytes else None
        yield from sentences_of_file(file, tally, relations, on_file)
        num_before += file.stat().st_size if file.is_file() else 0
    if not tally.num_good and not tally.num_bad:
        raise holds_no(path, "sentences")


def sentences_of_file(
    file: Path, tally: Tally, relations: Collection[str] | None = None, on_bytes: OnBytes | None = None
) -> Iterator[Sentence]:
    """Yield the sentences of one file, which may have none; otherwise like `read_sentences`."""
    items = _items(read_lines(file, on_bytes), tally, file)
    for sentence in good_sentences(items, relations, partial(tally.count_bad, file)):
        tally.num_good += 1
        yield sentence


def form_of(file: Path, tally: Tally) -> str:
    """Return the format of a plain file, as given or detected; the tally keeps it. `auto` if the file is blank."""
    if tally.form == "auto":
        _items(read_lines(file), tally, file)
    return tally.form


def good_sentences(
    items: Iterable[SentenceItem], relations: Collection[str] | None, on_bad: Callable[[int, str], None]
) -> Iterator[Sentence]:
    """Yield the sentences; call `on_bad` with number and reason for bad lines and relations not in the inventory."""
    for number, item in items:
        if isinstance(item, BadLine):
            on_bad(number, item.reason)
        elif relations is not None and (unknown := [name for name in item.relations if name not in relations]):
            on_bad(number, f"relation '{unknown[0]}' is not in the inventory")
        else:
            yield item


def reported(on_bytes: OnBytes, num_before: int, num: int) -> None:
    """Report progress in a file after others with this many bytes."""
    on_bytes(num_before + num)


def _items(lines: Iterator[Line], tally: Tally, file: Path) -> Iterator[SentenceItem]:
    looked_at: list[Line] = []
    if tally.form == "auto":
        looked_at = list(islice(filter(is_not_blank, lines), _NUM_LINES_LOOKED_AT))
        if not looked_at:
            return iter(())
        tally.form = _detect(looked_at, file)
    return READERS[tally.form].read(chain(looked_at, lines))


def _detect(lines: Sequence[Line], path: Path) -> str:
    """Detect the format from the first few lines, because the very first may be invalid."""
    if form := _recognised(lines):
        return form
    forms = "; ".join(f"{form}: {reader.about}" for form, reader in READERS.items())
    raise BadInputError(f"{path}:{lines[0][0]}: unknown format ({forms})")


def _recognised(lines: Iterable[Line]) -> str:
    """Return the first format that recognises one of the lines; empty if there is none."""
    found = (form for _, text in lines for form, reader in READERS.items() if _is_in(text, reader))
    return next(found, "")


def _is_in(text: str | BadLine, reader: Reader) -> bool:
    return isinstance(text, str) and reader.recognises(text)


def has_sentences(file: Path) -> bool:
    """Return whether a format recognises one of the file's first lines."""
    return bool(_recognised(islice(filter(is_not_blank, read_lines(file)), _NUM_LINES_LOOKED_AT)))


def refuse_unknown_form(form: str) -> None:
    """Raise `BadInputError` for an unknown format."""
    if form != "auto" and form not in READERS:
        raise BadInputError(
            f"{option('form', '--input-format')} {form}: unknown format; choose one of auto, {', '.join(READERS)}"
        )
