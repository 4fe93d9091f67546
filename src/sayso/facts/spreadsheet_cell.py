"""Text in the cells of a table: a spreadsheet takes some of it for a formula, and would calculate or run it."""

_EQUALS = ("=", "＝")
_ACTIVE = (*_EQUALS, "+", "-", "@", "＋", "－", "＠", "\t", "\n", "\r", "'")


def shielded(cell: object) -> object:
    """Return a text that a spreadsheet might calculate behind an apostrophe; everything else as it is.

    >>> shielded("=1+1"), shielded("it's"), shielded(-0.5)
    ("'=1+1", "it's", -0.5)
    """
    is_active = isinstance(cell, str) and (cell.startswith(_ACTIVE) or cell.lstrip().startswith(_EQUALS))
    return f"'{cell}" if is_active else cell


def bare(cell: str) -> str:
    """Return the text of a cell that `shielded` has made.

    >>> bare(str(shielded("=1+1"))), bare(str(shielded("'quoted"))), bare("it's")
    ('=1+1', "'quoted", "it's")
    """
    return cell.removeprefix("'")
