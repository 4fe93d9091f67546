"""Whole text of a small file (an inventory, a table of types), plain or gzip, for forms that are not lines."""

import gzip
import json
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

from sayso.corpus.lines import open_bytes
from sayso.errors import BadInputError


def read_text(path: Path) -> str:
    """Return the text of the file, with `\\n` line ends and without a byte order mark; it must hold something."""
    with open_bytes(path) as (_, stream):
        try:
            data = stream.read()
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise BadInputError(f"{path}: the gzip file is cut short or damaged ({error})") from error
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise BadInputError(f"{path}:{number}: not UTF-8") from error
    if not text.strip():
        raise BadInputError(f"{path}: the file is empty")
    return text


def read_json(path: Path, text: str) -> dict[str, Any]:
    """Return the JSON object that the text of the file is; a key that stands twice is refused."""
    try:
        value = json.loads(text, object_pairs_hook=_UniqueKeys)
    except _RepeatedKeyError as error:
        number = _line_of_repeat(text, error.key)
        raise BadInputError(f"{path}:{number}: {error.key!r} stands twice") from error
    except json.JSONDecodeError as error:
        raise BadInputError(f"{path}:{error.lineno}: not JSON: {error.msg.lower()}") from error
    except (RecursionError, ValueError) as error:
        raise BadInputError(f"{path}: not usable JSON ({error})") from error
    if not isinstance(value, dict):
        raise BadInputError(f"{path}: JSON, but not an object {{…}}")
    return value


class _RepeatedKeyError(Exception):
    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


class _UniqueKeys(dict[str, Any]):
    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        if len(self) < len(pairs):
            num_times = Counter(key for key, _ in pairs)
            raise _RepeatedKeyError(num_times.most_common(1)[0][0])


def _line_of_repeat(text: str, key: str) -> int:
    """Return the line of the key's second spelling."""
    spelled = json.dumps(key, ensure_ascii=False)
    second = text.find(spelled, text.find(spelled) + 1)
    return text.count("\n", 0, max(second, 0)) + 1
