"""Documents by id, to show a sentence in its document: two sentences of context on each side, and the whole text."""

from functools import cached_property
from pathlib import Path
from threading import Lock

from sayso.documents.document import Document, files_in, is_document, is_json_lines, read_documents, written_path
from sayso.documents.markup import without_markup
from sayso.documents.settings import BuildSettings
from sayso.documents.split import split
from sayso.errors import BadInputError
from sayso.input_file import open_bytes, refuse_missing
from sayso.readers.base import BadLine, BadLineError
from sayso.readers.files import read_lines_between
from sayso.readers.json_line import json_object, string

NUM_CONTEXT = 2
"""The number of sentences before and after a quote."""
_CONTEXT_CHARACTERS = 4_000
"""Sentences further away from a quote are not its context."""


class DocumentLookup:
    """The documents that a corpus was built from, read on demand.

    Like `sayso build`, it accepts a folder, a JSON lines file or a single text file.
    """

    def __init__(self, path: Path) -> None:
        refuse_missing((path,))
        self._path, self._lock = path, Lock()
        if self._is_lines and path.name.endswith(".gz"):
            raise BadInputError(f"{path}: the file is compressed; decompress it first, since it is read by byte offset")

    def text(self, document_id: str) -> str | None:
        """Return the text of a document; None if the id is unknown or the document cannot be read."""
        with self._lock:
            place = self._places.get(document_id)
        if place is None:
            return None
        if self._is_lines:
            return self._text_between(*place)
        file = self._path / document_id if self._path.is_dir() else self._path
        found = next(read_documents(file, BuildSettings(), lambda _: None), None)
        return found.text if isinstance(found, Document) else None

    def _text_between(self, start: int, stop: int) -> str | None:
        _, line = next(read_lines_between(self._path, start, stop), (0, BadLine("missing")))
        try:
            return None if isinstance(line, BadLine) else string(json_object(line), "text", "")
        except BadLineError:
            return None

    @cached_property
    def _is_lines(self) -> bool:
        if self._path.is_dir():
            return False
        with open_bytes(self._path) as (_, stream):
            return is_json_lines(self._path, stream)

    @cached_property
    def _places(self) -> dict[str, tuple[int, int]]:
        """The byte offsets of each document's line; zeros for a document in a file of its own."""
        if self._path.is_dir():
            files = filter(is_document, files_in(self._path))
            return {written_path(file.relative_to(self._path)): (0, 0) for file in files}
        if not self._is_lines:
            return {self._path.name: (0, 0)}
        places, start = dict[str, tuple[int, int]](), 0
        with self._path.open("rb") as file:
            for line in file:
                if document_id := _id_of(line):
                    places.setdefault(document_id, (start, start + len(line)))
                start += len(line)
        return places


def _id_of(line: bytes) -> str:
    try:
        given = json_object(line.decode("utf-8-sig").rstrip("\r\n")).get("id")
    except (UnicodeDecodeError, BadLineError):
        return ""
    return str(given) if isinstance(given, str | int) else ""


def context_of(text: str, start: int, stop: int) -> tuple[str, str]:
    """Return the sentences before and after a span of a document, with white space collapsed.

    >>> context_of("It rained. Ada left. Bo came. Cy slept. Dee sang.", 21, 29)
    ('It rained. Ada left.', 'Cy slept. Dee sang.')
    """
    plain = without_markup(text)
    first, last = plain.plain(start, stop)
    before = plain.text[max(0, first - _CONTEXT_CHARACTERS) : first]
    after = plain.text[last : last + _CONTEXT_CHARACTERS]
    spans_before, spans_after = split(before)[-NUM_CONTEXT:], split(after)[:NUM_CONTEXT]
    left = before[spans_before[0][0] :] if spans_before else ""
    right = after[: spans_after[-1][1]] if spans_after else ""
    return " ".join(left.split()), " ".join(right.split())
