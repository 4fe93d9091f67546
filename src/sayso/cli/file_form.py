"""Which form a file is written in: what was asked for, or what its name says."""

from collections.abc import Mapping
from pathlib import Path

from sayso.errors import UserError


def form_of(out: Path, asked: str | None, endings: Mapping[str, str], usual: str) -> str:
    """Return the form that was asked for, or else the one whose names end like this one, or else the usual one.

    A name that belongs to another form than the one asked for is a `UserError`: readers go by the name.

    >>> endings = {"triples": ".tsv", "statements": ".statements.tsv", "csv": ".csv"}
    >>> [form_of(Path(name), None, endings, "csv") for name in ("a.tsv", "a.statements.tsv", "a")]
    ['triples', 'statements', 'csv']
    """
    alike = [name for name, ending in endings.items() if ending and Path(f"file{ending}").suffix == out.suffix]
    if asked is None:
        fitting = [name for name in alike if out.name.endswith(endings[name])]
        # Of two endings that fit the longer says more; of the same ending's forms the first is meant.
        return max(fitting, key=lambda name: len(endings[name]), default=usual)
    if alike and asked not in alike:
        raise UserError(f"{out}: a file of this name is of the form {alike[0]}, not {asked}: name another file")
    return asked
