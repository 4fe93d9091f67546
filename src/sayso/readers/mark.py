"""Read and write annotators' marks on sentences: our JSON lines or ERASER's, detected from the first line.

ERASER (DeYoung et al. 2020) has, for each query, the spans of a document that answer it. A bag is a document with the
id `HEAD|TAIL`; its lines are the bag's sentences, and the query is the relation. Sentences covered by evidence are
rationales; the other sentences of the document are irrelevant.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any

from sayso.errors import BadInputError
from sayso.input_file import holding
from sayso.io.atomic import atomic_file
from sayso.io.folder import locked
from sayso.readers.base import BadLine, BadLineError, Line, located, parse_each, read_each, refuse_control
from sayso.readers.files import first_of, parse_lines, read_lines, read_text
from sayso.readers.json_line import has_keys, integer_pair, json_object, string, strings
from sayso.records import Mark

MarkItem = tuple[int, Mark | BadLine]
"""A line number, and the mark or bad line found there."""


def read_marks(path: Path) -> Iterator[MarkItem]:
    """Yield the marks in a file of either format, in order; a line that cannot be read is a `BadLine`."""
    first, lines = first_of(read_lines(path))
    read = read_eraser if has_keys(first, "annotation_id") else read_mark_lines
    return holding(path, "marks", read(path, lines))


def read_mark_lines(path: Path, lines: Iterable[Line] | None = None) -> Iterator[MarkItem]:
    """Yield the mark on each JSON line of the file, or of `lines` if the file is already open."""
    return read_each(read_lines(path) if lines is None else lines, parse)


def parse(text: str) -> Mark:
    """Parse one line."""
    record = json_object(text)
    head_id, tail_id, relation, sentence, label = (
        string(record, key) for key in ("head", "tail", "relation", "sentence", "label")
    )
    return with_plain_names(Mark(head_id, tail_id, relation, sentence, label, string(record, "by", "")))


def write_mark(mark: Mark, names: Mapping[str, str] = {}) -> str:
    """Return the mark's line, with the names of head and tail if they are known; `parse` reads it back unchanged."""
    head_id, tail_id, relation, sentence, label, annotator = mark
    record = {"head": head_id, "tail": tail_id, "relation": relation, "sentence": sentence, "label": label}
    record |= {name: names[each] for name, each in (("head_name", head_id), ("tail_name", tail_id)) if each in names}
    return json.dumps({**record, "by": annotator} if annotator else record, ensure_ascii=False)


def with_plain_names(mark: Mark) -> Mark:
    """Return the mark; raise `BadLineError` if an id or a name contains a control character."""
    refuse_control(mark.head_id, mark.tail_id, mark.relation, mark.annotator)
    return mark


_RATIONALE, _IRRELEVANT = "rationale", "irrelevant"


def document_id(head_id: str, tail_id: str, copy: int = 1) -> str:
    """Return the id of a bag's document; further documents of the same bag are numbered from 2.

    >>> document_id("m.0a|b", "m.1"), document_id("m.0", "m.1", 2)
    ('m.0a%7Cb|m.1', 'm.0|m.1|2')
    """
    bag = f"{_escaped(head_id)}|{_escaped(tail_id)}"
    return bag if copy == 1 else f"{bag}|{copy}"


def pair_of(docid: str) -> tuple[str, str]:
    """Return the head and tail ids from a document id."""
    parts = docid.split("|")
    is_numbered = len(parts) == 3 and parts[2].isdecimal()
    if (len(parts) != 2 and not is_numbered) or not parts[0].strip() or not parts[1].strip():
        raise BadLineError(f"document id {docid[:60]!r} does not have the form HEAD|TAIL")
    return _unescaped(parts[0]), _unescaped(parts[1])


def annotator_of(annotation: str, docid: str) -> str:
    """Return the annotator from an annotation id in our format, else an empty string."""
    rest = annotation.removeprefix(f"{docid}|").split("|")
    return _unescaped(rest[1]) if annotation.startswith(f"{docid}|") and len(rest) == 2 else ""


class Documents:
    """The documents next to an annotation file: `docs.jsonl`, kept in memory, or the files in a folder `docs`."""

    def __init__(self, folder: Path) -> None:
        self._files = (folder / "docs").resolve()
        self._loaded: dict[str, list[str]] | None = None
        if (folder / "docs.jsonl").is_file():
            self._loaded = _load(folder / "docs.jsonl")
        elif not self._files.is_dir():
            raise BadInputError(f"{folder}: no documents found; expected docs.jsonl or a folder named docs")

    def sentences(self, docid: str) -> list[str]:
        """Return the sentences of the document."""
        if self._loaded is not None:
            if docid not in self._loaded:
                raise BadLineError(f"document {docid[:60]!r} is not in docs.jsonl")
            return self._loaded[docid]
        path = self._files / docid
        if not self._is_inside(path):
            raise BadLineError(f"document {docid[:60]!r} is not in the folder docs")
        # If documents are separate files, ERASER counts only the lines that are not blank.
        return [sentence for sentence in _sentences(read_text(path, "sentences")) if sentence]

    def _is_inside(self, path: Path) -> bool:
        """Return whether this is a file in the folder; an id may be an invalid file name or point outside it."""
        try:
            return self._files in path.resolve().parents and path.is_file()
        except (OSError, RuntimeError, ValueError):  # too long, a symlink loop, a NUL
            return False


def _load(path: Path) -> dict[str, list[str]]:
    documents: dict[str, list[str]] = {}
    for number, record in parse_lines(path, "documents", json_object):
        with located(f"{path}:{number}"):
            docid = string(record, "docid")
            if docid in documents:
                raise BadLineError(f"document {docid[:60]!r} appears twice")
            documents[docid] = _sentences(string(record, "document"))
    return documents


def _sentences(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.split("\n")]


def _escaped(part: str) -> str:
    return part.replace("%", "%25").replace("|", "%7C")


def _unescaped(part: str) -> str:
    return part.replace("%7C", "|").replace("%25", "%")


def read_eraser(path: Path, lines: Iterable[Line] | None = None) -> Iterator[tuple[int, Mark | BadLine]]:
    """Yield the marks on each line of the file, or of `lines` if the file is already open.

    The documents are next to the file, in `docs.jsonl` or in a folder `docs`.
    """
    documents = Documents(path.parent)
    return parse_each(read_lines(path) if lines is None else lines, lambda text: _eraser_marks(text, documents))


def _eraser_marks(text: str, documents: Documents) -> Iterator[Mark]:
    record = json_object(text)
    relation = string(record, "query")
    evidences = _evidences(record)
    for docid in _docids(record, evidences):
        head_id, tail_id = pair_of(docid)
        annotator = annotator_of(string(record, "annotation_id", ""), docid)
        sentences = documents.sentences(docid)
        refuse_control(head_id, tail_id, relation, annotator)
        inside = {i for evidence in evidences if evidence["docid"] == docid for i in _covered(evidence, sentences)}
        for index, sentence in enumerate(sentences):
            if sentence:
                label = _RATIONALE if index in inside else _IRRELEVANT
                yield Mark(head_id, tail_id, relation, sentence, label, annotator)


def _evidences(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the evidence in all groups as one list; the groups make no difference here."""
    groups = record.get("evidences")
    if not isinstance(groups, list) or not all(isinstance(group, list) for group in groups):
        raise BadLineError("'evidences' is not a list of lists")
    evidences = [evidence for group in groups for evidence in group]
    for evidence in evidences:
        if not isinstance(evidence, dict):
            raise BadLineError("an entry of 'evidences' is not an object {…}")
        string(evidence, "docid")
    return evidences


def _docids(record: dict[str, Any], evidences: list[dict[str, Any]]) -> list[str]:
    """Return the distinct ids of the line's documents; if it has none, the annotation id is the document id."""
    named = strings(record, "docids") if record.get("docids") is not None else []
    docids = list(dict.fromkeys([*named, *(evidence["docid"] for evidence in evidences)]))
    return docids or [string(record, "annotation_id")]


def _covered(evidence: dict[str, Any], sentences: list[str]) -> Iterable[int]:
    """Return the indices of the sentences that the evidence overlaps, by its sentence or else its token offsets."""
    start, stop = integer_pair([evidence.get("start_sentence", -1), evidence.get("end_sentence", -1)], "evidence")
    if start >= 0:
        if not start < stop <= len(sentences):
            raise BadLineError(
                f"evidence [{start}, {stop}] lies outside the {len(sentences)} sentences of the document"
            )
        return range(start, stop)
    start, stop = integer_pair([evidence.get("start_token", -1), evidence.get("end_token", -1)], "evidence")
    ends = _token_ends(sentences)
    if not 0 <= start < stop <= ends[-1]:
        raise BadLineError(f"evidence [{start}, {stop}] lies outside the {ends[-1]} tokens of the document")
    return [i for i in range(len(sentences)) if ends[i] < stop and start < ends[i + 1]]


def write_eraser(folder: Path, marks: Iterable[Mark], name: str = "rationales.jsonl") -> int:
    """Write `docs.jsonl` and the file `name`; return the number of marks left out (neither rationale nor irrelevant).

    If one annotator marked a sentence twice for the same fact, the later mark is written. Runs of white space in a
    sentence become one space.
    """
    annotations, num_left_out = _by_annotation(marks)
    bags: dict[tuple[str, str], dict[frozenset[str], tuple[str, list[str]]]] = defaultdict(dict)
    with (
        locked(folder, "sayso annotations export"),
        atomic_file(folder / "docs.jsonl") as docs,
        atomic_file(folder / name) as lines,
    ):
        for (head_id, tail_id, relation, annotator), labels in annotations.items():
            # Facts of one pair share a document only if the same sentences were marked for them: an unmarked
            # sentence would be read as irrelevant.
            written, marked = bags[head_id, tail_id], frozenset(labels)
            docid, sentences = written.get(marked, (document_id(head_id, tail_id, len(written) + 1), list(labels)))
            if marked not in written:
                written[marked] = docid, sentences
                docs.write(_json({"docid": docid, "document": "\n".join(sentences)}))
            lines.write(_json(_annotation(docid, sentences, relation, annotator, labels)))
    return num_left_out


def _by_annotation(marks: Iterable[Mark]) -> tuple[dict[tuple[str, str, str, str], dict[str, str]], int]:
    """Return the sentence labels for each fact and annotator, and the number of marks with any other label."""
    marked: dict[tuple[str, str, str, str], dict[str, str]] = {}
    num_left_out = 0
    for head_id, tail_id, relation, text, label, annotator in marks:
        sentence = " ".join(text.split())
        if label in (_RATIONALE, _IRRELEVANT) and sentence:
            marked.setdefault((head_id, tail_id, relation, annotator), {})[sentence] = label
        else:
            num_left_out += 1
    return marked, num_left_out


def _annotation(
    docid: str, sentences: list[str], relation: str, annotator: str, marks: dict[str, str]
) -> dict[str, object]:
    ends = _token_ends(sentences)
    evidences = [
        {
            "docid": docid,
            "start_sentence": index,
            "end_sentence": index + 1,
            "start_token": ends[index],
            "end_token": ends[index + 1],
            "text": sentence,
        }
        for index, sentence in enumerate(sentences)
        if marks[sentence] == _RATIONALE
    ]
    return {
        "annotation_id": f"{docid}|{_escaped(relation)}|{_escaped(annotator)}",
        "classification": "true",
        "docids": [docid],
        # Each rationale is enough by itself, so each is its own group.
        "evidences": [[evidence] for evidence in evidences],
        "query": relation,
        "query_type": "relation",
    }


def _token_ends(sentences: list[str]) -> list[int]:
    """Return the number of tokens before each sentence, followed by the total."""
    return list(accumulate((len(sentence.split()) for sentence in sentences), initial=0))


def _json(record: dict[str, object]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"
