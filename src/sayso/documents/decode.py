"""Bytes of a document to text, whatever their encoding, or the reason why not."""

import codecs
import re
from typing import NamedTuple

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is the beginning of this one
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MAX_NUL_SHARE = 0.01
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")


class UnreadableError(Exception):
    """A document that cannot be used; the text is the reason, without the document's name."""


class Decoded(NamedTuple):
    """The text, and what was odd about it: it was not UTF-8, it had NUL characters (which are spaces now)."""

    text: str
    is_not_utf8: bool = False
    has_nul: bool = False


def decode(data: bytes, only_utf8: bool = False) -> Decoded:
    """Return the text of the bytes: by their byte order mark, else UTF-8, else Windows-1252 unless `only_utf8`.

    >>> decode("Zürich".encode("cp1252"))
    Decoded(text='Zürich', is_not_utf8=True, has_nul=False)
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return without_nul(_strictly(data[len(mark) :], encoding))
    try:
        return without_nul(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        if only_utf8:
            raise UnreadableError(f"byte {error.start + 1:,} is not UTF-8") from error
    decoded = without_nul(_from_windows(data))
    num = len(_CONTROL.findall(decoded.text))
    if num > _MAX_NUL_SHARE * len(decoded.text) + 1:
        raise UnreadableError(f"{num:,} of {len(decoded.text):,} characters are control characters: not a text")
    return decoded._replace(is_not_utf8=True)


def without_nul(text: str) -> Decoded:
    """Return the text with a space for each NUL; more than a few of them are a file that is not text."""
    num = text.count("\0")
    if num > _MAX_NUL_SHARE * len(text) + 1:
        raise UnreadableError(f"{num:,} of {len(text):,} characters are NUL: not a text, or UTF-16 without a mark")
    return Decoded(text.replace("\0", " "), has_nul=num > 0)


def _strictly(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise UnreadableError(f"its first bytes say {encoding}, but byte {error.start + 1:,} is not") from error


def _from_windows(data: bytes) -> str:
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:  # five bytes mean nothing in Windows-1252; in Latin-1 every byte is a character
        return data.decode("latin-1")
