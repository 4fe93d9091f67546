"""Documents by id, to show a sentence in its document: two sentences of context on each side, and the whole text."""

import logging
import os
import shutil
import tempfile
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

from sayso.documents.document import Document, files_in, is_document, is_json_lines, read_documents, written_path
from sayso.documents.markup import without_markup
from sayso.documents.settings import BuildSettings
from sayso.documents.split import split
from sayso.errors import BadInputError
from sayso.input_file import open_bytes, refuse_missing
from sayso.readers.base import BadLineError
from sayso.readers.json_line import json_object, string

_log = logging.getLogger(__name__)

NUM_CONTEXT = 2
"""The number of sentences before and after a quote."""
_CONTEXT_CHARACTERS = 4_000
"""Sentences further away from a quote are not its context."""


class DocumentLookup:
    """The documents that a corpus was built from, read on demand.

    Like `sayso build`, it accepts a folder, a JSON lines file or a single text file, plain or gzip. For JSON lines in
    gzip, a decompressed temporary copy is made when the first document is shown, to find lines by their offset.
    """

    def __init__(self, path: Path) -> None:
        refuse_missing((path,))
        self._path, self._lock = path, Lock()

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
        try:
            return string(_record(os.pread(self._lines.fileno(), stop - start, start)), "text", "")
        except (UnicodeDecodeError, BadLineError):
            return None

    def close(self) -> None:
        """Close the JSON lines and remove their temporary copy."""
        if lines := self.__dict__.get("_lines"):
            lines.close()

    @cached_property
    def _lines(self) -> BinaryIO:
        """The JSON lines, decompressed; empty if they cannot be read, which is logged."""
        copy = tempfile.TemporaryFile()  # noqa: SIM115 closed by `close`
        try:
            with open_bytes(self._path) as (raw, stream):
                if stream.raw is raw:
                    copy.close()
                    return self._path.open("rb")
                shutil.copyfileobj(stream, copy, 2**20)
            copy.seek(0)
        except BadInputError as error:
            _log.warning("%s; quotes are shown without their documents", error)
            copy.truncate(0)
        return copy

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
        for line in self._lines:
            if document_id := _id_of(line):
                places.setdefault(document_id, (start, start + len(line)))
            start += len(line)
        return places


def _record(line: bytes) -> dict[str, Any]:
    return json_object(line.decode("utf-8-sig").rstrip("\r\n"))


def _id_of(line: bytes) -> str:
    try:
        given = _record(line).get("id")
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
