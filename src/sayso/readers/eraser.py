"""ERASER's JSON lines (DeYoung et al. 2020): for each query the stretches of a document that answer it.

A bag is a document, `HEAD|TAIL` its id, its lines the bag's sentences; the query is the relation. Sentences in an
evidence are rationale, the other sentences of the document are irrelevant.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

from sayso.io.atomic import atomic_file
from sayso.io.folder import claimed
from sayso.readers.base import BadLineError, Line
from sayso.readers.eraser_document import Documents, annotation_id, annotator_of, document_id, pair_of
from sayso.readers.json_line import integer_pair, json_object, string, strings
from sayso.readers.lines import read_lines
from sayso.readers.rationale import MarkItem, marks_of
from sayso.records import Mark

_RATIONALE, _IRRELEVANT = "rationale", "irrelevant"


def read_eraser(path: Path, lines: Iterable[Line] | None = None) -> Iterator[MarkItem]:
    """Yield the marks of each line, of `lines` where the file is open already.

    The documents lie beside the file, in `docs.jsonl` or in a folder `docs`.
    """
    documents = Documents(path.parent)
    return marks_of(read_lines(path) if lines is None else lines, lambda text: _parse(text, documents))


def _parse(text: str, documents: Documents) -> Iterator[Mark]:
    record = json_object(text)
    relation = string(record, "query")
    evidences = _evidences(record)
    for docid in _docids(record, evidences):
        head_id, tail_id = pair_of(docid)
        annotator = annotator_of(string(record, "annotation_id", ""), docid)
        sentences = documents.sentences(docid)
        inside = {i for evidence in evidences if evidence["docid"] == docid for i in _covered(evidence, sentences)}
        for index, sentence in enumerate(sentences):
            if sentence:
                label = _RATIONALE if index in inside else _IRRELEVANT
                yield Mark(head_id, tail_id, relation, sentence, label, annotator)


def _evidences(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the evidences of all groups; which group one belongs to makes no difference to a sentence."""
    groups = record.get("evidences")
    if not isinstance(groups, list) or not all(isinstance(group, list) for group in groups):
        raise BadLineError("'evidences' is not a list of lists")
    evidences = [evidence for group in groups for evidence in group]
    for evidence in evidences:
        if not isinstance(evidence, dict):
            raise BadLineError("an evidence is not an object {…}")
        string(evidence, "docid")
    return evidences


def _docids(record: dict[str, Any], evidences: list[dict[str, Any]]) -> list[str]:
    """Return the documents of the line, each once; a line that names none is about the one of its own id."""
    named = strings(record, "docids") if record.get("docids") is not None else []
    docids = list(dict.fromkeys([*named, *(evidence["docid"] for evidence in evidences)]))
    return docids or [string(record, "annotation_id")]


def _covered(evidence: dict[str, Any], sentences: list[str]) -> Iterable[int]:
    """Return the sentences that the evidence touches, told by sentence numbers or, without those, by tokens."""
    start, stop = integer_pair([evidence.get("start_sentence", -1), evidence.get("end_sentence", -1)], "an evidence")
    if start >= 0:
        if not start < stop <= len(sentences):
            raise BadLineError(
                f"evidence [{start}, {stop}] lies outside the {len(sentences)} sentences of the document"
            )
        return range(start, stop)
    start, stop = integer_pair([evidence.get("start_token", -1), evidence.get("end_token", -1)], "an evidence")
    ends = _token_ends(sentences)
    if not 0 <= start < stop <= ends[-1]:
        raise BadLineError(f"evidence [{start}, {stop}] lies outside the {ends[-1]} tokens of the document")
    return [i for i in range(len(sentences)) if ends[i] < stop and start < ends[i + 1]]


def write_eraser(folder: Path, marks: Iterable[Mark], name: str = "rationales.jsonl") -> int:
    """Write `docs.jsonl` and the file of that name; return how many marks the form could not take.

    Those are marks that are neither rationale nor irrelevant. Of two marks of one person on the same sentence and
    fact the later holds. Runs of white space in a sentence become one space.
    """
    annotations, num_left_out = _by_annotation(marks)
    bags: dict[tuple[str, str], dict[frozenset[str], tuple[str, list[str]]]] = {}
    with (
        claimed(folder, "sayso annotations export"),
        atomic_file(folder / "docs.jsonl") as docs,
        atomic_file(folder / name) as lines,
    ):
        for (head_id, tail_id, relation, annotator), labels in annotations.items():
            # Facts of one pair share a document only where the same sentences were marked for them: a sentence
            # that nobody marked would read as irrelevant.
            written = bags.setdefault((head_id, tail_id), {})
            marked = frozenset(labels)
            if marked not in written:
                written[marked] = document_id(head_id, tail_id, len(written) + 1), list(labels)
                docid, sentences = written[marked]
                docs.write(_line({"docid": docid, "document": "\n".join(sentences)}))
            docid, sentences = written[marked]
            lines.write(_line(_annotation(docid, sentences, relation, annotator, labels)))
    return num_left_out


def _by_annotation(
    marks: Iterable[Mark],
) -> tuple[dict[tuple[str, str, str, str], dict[str, str]], int]:
    """Return, for each fact and person, what each sentence is; and how many marks are neither of the two."""
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
        "annotation_id": annotation_id(docid, relation, annotator),
        "classification": "true",
        "docids": [docid],
        # Each sentence that says so is enough by itself, so each is a group of its own.
        "evidences": [[evidence] for evidence in evidences],
        "query": relation,
        "query_type": "relation",
    }


def _token_ends(sentences: list[str]) -> list[int]:
    """Return how many tokens of the document lie before each sentence, and at the end all of them."""
    return list(accumulate((len(sentence.split()) for sentence in sentences), initial=0))


def _line(record: dict[str, object]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"
