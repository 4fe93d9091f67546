"""File formats for exporting and importing marks."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from sayso.annotate.marking import LABELS
from sayso.errors import BadInputError
from sayso.facts.export import bare, shielded
from sayso.input_file import holding, refuse_pipe
from sayso.io.atomic import atomic_file
from sayso.metrics.agreement import IRRELEVANT, RATIONALE, majority
from sayso.readers.base import BadLine, BadLineError, parse_each
from sayso.readers.eraser import read_eraser, write_eraser
from sayso.readers.files import first_of, read_lines, read_text
from sayso.readers.json_line import has_keys, json_object, string
from sayso.readers.mark import MarkItem, read_mark_lines, with_plain_names, write_mark
from sayso.records import Mark, Triple

COLUMNS = ("head", "tail", "relation", "sentence", "label", "by")


def write_csv(path: Path, marks: Iterable[Mark]) -> int:
    """Write one row per mark; return the number of marks left out (always 0)."""
    with atomic_file(path) as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows([shielded(cell) for cell in mark] for mark in marks)
    return 0


def read_csv(path: Path) -> Iterator[MarkItem]:
    """Yield each row's mark with its line number, or the reason why it cannot be read."""
    rows = csv.reader(io.StringIO(read_text(path, "marks"), newline=""), strict=True)
    try:
        header = next(rows, [])
        if tuple(header) != COLUMNS:
            raise BadInputError(f"{path}:1: expected the header {','.join(COLUMNS)}")
        for row in rows:
            yield rows.line_num, _mark(row)
    except csv.Error as error:
        raise BadInputError(f"{path}:{rows.line_num}: not CSV ({error})") from error


def _mark(row: list[str]) -> Mark | BadLine:
    if len(row) != len(COLUMNS):
        return BadLine(f"expected {len(COLUMNS)} columns, got {len(row)}")
    try:
        return with_plain_names(Mark(*map(bare, row)))
    except BadLineError as error:
        return BadLine(str(error))


def write_tuples(path: Path, marks: Iterable[Mark]) -> int:
    """Write every tuple of each fact as a JSON line; return the number of marks in no tuple.

    If several annotators have marked a sentence, the majority counts.
    """
    facts: dict[Triple, dict[str, list[str]]] = {}
    num_marks = 0
    for head_id, tail_id, relation, sentence, label, _ in marks:
        facts.setdefault(Triple(head_id, relation, tail_id), {}).setdefault(sentence, []).append(label)
        num_marks += 1
    num_used = 0
    with atomic_file(path) as file:
        for fact, sentences in facts.items():
            voted = {text: majority(labels) for text, labels in sentences.items()}
            sides = [[text for text, label in voted.items() if label == side] for side in (RATIONALE, IRRELEVANT)]
            if all(sides):
                num_used += sum(len(sentences[text]) for side in sides for text in side)
            for rationale in sides[0]:
                for irrelevant in sides[1]:
                    file.write(_line(fact, rationale, irrelevant))
    return num_marks - num_used


def read_tuples(path: Path) -> Iterator[MarkItem]:
    """Yield the two marks on each line; a sentence is repeated for each of its tuples."""
    return parse_each(read_lines(path), _parse)


def _parse(text: str) -> Iterator[Mark]:
    record = json_object(text)
    head_id, tail_id, relation = (string(record, key) for key in ("head", "tail", "relation"))
    for side in (RATIONALE, IRRELEVANT):
        yield with_plain_names(Mark(head_id, tail_id, relation, string(record, side), side))


def _line(fact: Triple, rationale: str, irrelevant: str) -> str:
    record = {"head": fact.head_id, "tail": fact.tail_id, "relation": fact.relation}
    return json.dumps({**record, RATIONALE: rationale, IRRELEVANT: irrelevant}, ensure_ascii=False) + "\n"


ERASER_FILE = "rationales.jsonl"
_NUM_SHOWN = 5


class MarkFormat(NamedTuple):
    """A file format for marks; `write` returns the number of marks left out."""

    write: Callable[[Path, Iterable[Mark]], int]
    read: Callable[[Path], Iterator[MarkItem]]
    title: str
    suffix: str
    is_folder: bool = False


def _write_lines(path: Path, marks: Iterable[Mark]) -> int:
    with atomic_file(path) as file:
        file.writelines(f"{write_mark(mark)}\n" for mark in marks)
    return 0


FORMS: dict[str, MarkFormat] = {
    "jsonl": MarkFormat(_write_lines, read_mark_lines, "JSON lines", ".jsonl"),
    "eraser": MarkFormat(write_eraser, read_eraser, "ERASER JSON lines", "", is_folder=True),
    "csv": MarkFormat(write_csv, read_csv, "CSV", ".csv"),
    "tuples": MarkFormat(write_tuples, read_tuples, "expl-eval tuples", ".jsonl"),
}


def read_any(path: Path) -> list[Mark]:
    """Read a file of marks in any format, recognised by its name and first line; raise on bad lines."""
    if path.is_dir():
        path = path / ERASER_FILE
    refuse_pipe(path, "annotations are")
    marks, bad = [], []
    for number, item in holding(path, "marks", _form_of(path).read(path)):
        if isinstance(item, BadLine):
            bad.append(f"{path}:{number}: {item.reason}")
        elif item.label not in LABELS:
            bad.append(f"{path}:{number}: {item.label[:20]!r} is not a label; choose one of {', '.join(LABELS)}")
        else:
            marks.append(item)
    if bad:
        raise BadInputError("\n".join([*bad[:_NUM_SHOWN], f"{path}: {len(bad):,} bad lines; nothing was imported"]))
    return marks


def _form_of(path: Path) -> MarkFormat:
    if path.suffix == ".csv":
        return FORMS["csv"]
    first, _ = first_of(read_lines(path))
    if has_keys(first, "annotation_id"):
        return FORMS["eraser"]
    if has_keys(first, "rationale", "irrelevant"):
        return FORMS["tuples"]
    return FORMS["jsonl"]
