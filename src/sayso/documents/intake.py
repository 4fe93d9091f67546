"""What becomes of the documents of one run: new, there already, changed, or of no use."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sayso.documents.document import Document, LeftOut
from sayso.errors import BadInputError, option
from sayso.input_file import holds_no

_NUM_SHOWN = 10


@dataclass
class Intake:
    """Counts of one run, the first of each kind by name."""

    num_new: int = 0
    num_already_there: int = 0
    num_changed: int = 0
    changed: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    num_bad: int = 0
    first_bad: list[str] = field(default_factory=list)
    first_passed_over: list[str] = field(default_factory=list)

    def new_ones(self, items: Iterable[Document | LeftOut], there: dict[str, str]) -> Iterator[Document]:
        """Yield the documents that are not there yet; `there` has ids with fingerprints, and grows.

        A document whose id is there with another text is not taken again: it is named as changed.
        """
        for item in items:
            if isinstance(item, LeftOut):
                self._leave_out(item)
            elif item.id not in there:
                there[item.id] = item.fingerprint
                self.num_new += 1
                yield item
            elif there[item.id] == item.fingerprint:
                self.num_already_there += 1
            else:
                self.num_changed += 1
                self.changed += [item.id] if len(self.changed) < _NUM_SHOWN else []

    def _leave_out(self, item: LeftOut) -> None:
        # Numbers differ from document to document; the rest is the kind of fault.
        self.left_out[re.sub(r"(?<![\w-])[0-9]+(?:,[0-9]{3})*", "…", item.reason)] += 1
        self.num_bad += item.is_fault
        shown = self.first_bad if item.is_fault else self.first_passed_over
        if len(shown) < _NUM_SHOWN:
            shown.append(f"{item.where}: {item.reason}")

    def refuse_too_many_left_out(self, path: Path, max_share: float) -> None:
        """Raise `BadInputError` where more than the share are bad, or none can be used; empty ones are not bad."""
        num_used, num_bad = self.num_new + self.num_already_there + self.num_changed, self.num_bad
        first = "".join(f"; the first is {shown}" for shown in (self.first_bad + self.first_passed_over)[:1])
        if not num_used and not self.left_out:
            raise holds_no(path, "documents")
        if not num_used:
            raise BadInputError(f"{path}: no document in it can be used{first}")
        if num_bad > max_share * (num_used + num_bad):
            append = option('mode="append"', "--append")
            raise BadInputError(
                f"{path}: {num_bad:,} of {num_used + num_bad:,} documents cannot be used, more than {max_share:.0%}"
                f" (repair them, or allow more with {option('max_bad_share', '--max-bad')};"
                f" {append} goes on with what is done){first}"
            )
