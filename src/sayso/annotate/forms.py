"""The forms of files that marks are exported to and imported from."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from sayso.annotate.csv_form import read_csv, write_csv
from sayso.annotate.fact_work import LABELS
from sayso.annotate.tuples import read_tuples, write_tuples
from sayso.errors import BadInputError
from sayso.input_file import holding, refuse_pipe
from sayso.io.atomic import atomic_file
from sayso.readers.base import BadLine
from sayso.readers.eraser import read_eraser, write_eraser
from sayso.readers.json_line import has_keys
from sayso.readers.lines import first_of, read_lines
from sayso.readers.rationale import MarkItem, read_rationales, write_rationale
from sayso.records import Mark

ERASER_FILE = "rationales.jsonl"
_NUM_SHOWN = 5


class Form(NamedTuple):
    """How a form is written (returning how many marks it cannot take) and read, and what it is called."""

    write: Callable[[Path, Iterable[Mark]], int]
    read: Callable[[Path], Iterator[MarkItem]]
    title: str
    suffix: str
    is_folder: bool = False


def _write_lines(path: Path, marks: Iterable[Mark]) -> int:
    with atomic_file(path) as file:
        file.writelines(f"{write_rationale(mark)}\n" for mark in marks)
    return 0


FORMS: dict[str, Form] = {
    "jsonl": Form(_write_lines, read_rationales, "JSON lines", ".jsonl"),
    "eraser": Form(write_eraser, read_eraser, "ERASER JSON lines", "", is_folder=True),
    "csv": Form(write_csv, read_csv, "CSV", ".csv"),
    "tuples": Form(write_tuples, read_tuples, "expl-eval tuples", ".jsonl"),
}


def read_any(path: Path) -> list[Mark]:
    """Return the marks of a file of any form, told by its name and its first line; a bad line is an error."""
    if path.is_dir():
        path = path / ERASER_FILE
    refuse_pipe(path, "annotations are")
    marks, bad = [], []
    for number, item in holding(path, "marks", _form_of(path).read(path)):
        if isinstance(item, BadLine):
            bad.append(f"{path}:{number}: {item.reason}")
        elif item.label not in LABELS:
            bad.append(f"{path}:{number}: {item.label[:20]!r} is no label; there are {', '.join(LABELS)}")
        else:
            marks.append(item)
    if bad:
        raise BadInputError("\n".join([*bad[:_NUM_SHOWN], f"{path}: {len(bad):,} bad lines; nothing was imported"]))
    return marks


def _form_of(path: Path) -> Form:
    if path.suffix == ".csv":
        return FORMS["csv"]
    first, _ = first_of(read_lines(path))
    if has_keys(first, "annotation_id"):
        return FORMS["eraser"]
    if has_keys(first, "rationale", "irrelevant"):
        return FORMS["tuples"]
    return FORMS["jsonl"]
