"""Text in the cells of a table: a spreadsheet takes some of it for a formula, and would calculate or run it.

Control characters, which end a text or steer a terminal, are written as escapes such as `\\x1b`.
"""

import re

_EQUALS = ("=", "＝")
_ACTIVE = (*_EQUALS, "+", "-", "@", "＋", "－", "＠", "\t", "\n", "\r", "'")
_ESCAPED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\\(?=x[0-9a-f]{2})")
"""Control characters other than tab and line ends, and a backslash that would read as the start of an escape."""
_ESCAPE = re.compile(r"\\x([0-9a-f]{2})")


def shielded(cell: object) -> object:
    """Return a text that a spreadsheet might calculate behind an apostrophe, with control characters as escapes.

    >>> shielded("=1+1"), shielded("it's"), shielded(-0.5)
    ("'=1+1", "it's", -0.5)
    """
    if not isinstance(cell, str):
        return cell
    is_active = cell.startswith(_ACTIVE) or cell.lstrip().startswith(_EQUALS)
    text = _ESCAPED.sub(lambda found: f"\\x{ord(found[0]):02x}", cell)
    return f"'{text}" if is_active else text


def bare(cell: str) -> str:
    """Return the text of a cell that `shielded` has made.

    >>> bare(str(shielded("=1+1"))), bare(str(shielded("'quoted"))), bare("it's")
    ('=1+1', "'quoted", "it's")
    """
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), cell.removeprefix("'"))
