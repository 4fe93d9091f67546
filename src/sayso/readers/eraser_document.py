"""The documents that ERASER's annotations point into, and the ids by which they do."""

from pathlib import Path

from sayso.errors import BadInputError
from sayso.input_file import holding
from sayso.readers.base import BadLine, BadLineError
from sayso.readers.json_line import json_object, string
from sayso.readers.lines import read_lines
from sayso.readers.whole import read_text


def document_id(head_id: str, tail_id: str, copy: int = 1) -> str:
    """Return the id of a bag's document; further documents of the same bag are numbered from 2.

    >>> document_id("m.0a|b", "m.1"), document_id("m.0", "m.1", 2)
    ('m.0a%7Cb|m.1', 'm.0|m.1|2')
    """
    bag = f"{_escaped(head_id)}|{_escaped(tail_id)}"
    return bag if copy == 1 else f"{bag}|{copy}"


def pair_of(docid: str) -> tuple[str, str]:
    """Return head and tail id of a bag's document."""
    parts = docid.split("|")
    is_numbered = len(parts) == 3 and parts[2].isdecimal()
    if (len(parts) != 2 and not is_numbered) or not parts[0].strip() or not parts[1].strip():
        raise BadLineError(f"document {docid[:60]!r} is not named HEAD|TAIL after a pair of entities")
    return _unescaped(parts[0]), _unescaped(parts[1])


def annotation_id(docid: str, relation: str, annotator: str) -> str:
    """Return an id of its own for what one person marked in a document for a relation."""
    return f"{docid}|{_escaped(relation)}|{_escaped(annotator)}"


def annotator_of(annotation: str, docid: str) -> str:
    """Return who marked, where the annotation's id is one of ours; empty otherwise."""
    rest = annotation.removeprefix(f"{docid}|").split("|")
    return _unescaped(rest[1]) if annotation.startswith(f"{docid}|") and len(rest) == 2 else ""


class Documents:
    """The documents beside an annotation file: `docs.jsonl`, held in memory, or the files of a folder `docs`."""

    def __init__(self, folder: Path) -> None:
        self._files = (folder / "docs").resolve()
        self._loaded: dict[str, list[str]] | None = None
        if (folder / "docs.jsonl").is_file():
            self._loaded = _load(folder / "docs.jsonl")
        elif not self._files.is_dir():
            raise BadInputError(f"{folder}: the documents are missing: neither docs.jsonl nor a folder docs lies here")

    def sentences(self, docid: str) -> list[str]:
        """Return the sentences of the document, one a line."""
        if self._loaded is not None:
            if docid not in self._loaded:
                raise BadLineError(f"document {docid[:60]!r} is not in docs.jsonl")
            return self._loaded[docid]
        path = self._files / docid
        if not self._is_inside(path):
            raise BadLineError(f"document {docid[:60]!r} is not in the folder docs")
        # ERASER counts only the lines that hold something where documents are files of their own.
        return [sentence for sentence in _sentences(read_text(path, "sentences")) if sentence]

    def _is_inside(self, path: Path) -> bool:
        """Say whether this is a file of the folder; ids are other people's, and may be no name of a file at all."""
        try:
            return self._files in path.resolve().parents and path.is_file()
        except (OSError, RuntimeError, ValueError):  # too long, a loop of links, a NUL in it
            return False


def _load(path: Path) -> dict[str, list[str]]:
    documents: dict[str, list[str]] = {}
    for number, text in holding(path, "documents", read_lines(path)):
        try:
            if isinstance(text, BadLine):
                raise BadLineError(text.reason)
            if text.strip():
                record = json_object(text)
                docid = string(record, "docid")
                if docid in documents:
                    raise BadLineError(f"document {docid[:60]!r} stands twice")
                documents[docid] = _sentences(string(record, "document"))
        except BadLineError as error:
            raise BadInputError(f"{path}:{number}: {error}") from error
    return documents


def _sentences(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.split("\n")]


def _escaped(part: str) -> str:
    return part.replace("%", "%25").replace("|", "%7C")


def _unescaped(part: str) -> str:
    return part.replace("%7C", "|").replace("%25", "%")
