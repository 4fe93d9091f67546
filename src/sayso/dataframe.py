"""Results as pandas has them, where pandas is installed."""

from collections.abc import Iterable, Mapping
from typing import Any

from sayso.errors import MissingExtraError


def frame_of(rows: Iterable[Mapping[str, object]]) -> Any:
    """Return a pandas DataFrame with these rows."""
    try:
        import pandas
    except ImportError:
        raise MissingExtraError("to_frame()", "frame") from None
    return pandas.DataFrame.from_records(list(rows))
