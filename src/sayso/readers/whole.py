"""Whole text of a small file (an inventory, a table of types), plain or gzip, for forms that are not lines."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sayso.errors import BadInputError
from sayso.input_file import holds_no, read_bytes


def read_text(path: Path, what: str) -> str:
    """Return the text of the file, with `\\n` line ends and without a byte order mark; `what` it holds it must hold."""
    data = read_bytes(path)
    try:
        text = data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise BadInputError(f"{path}:{number}: not UTF-8") from error
    if not text or text.isspace():
        raise holds_no(path, what)
    return text


def lines_with_text(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that hold something with their numbers; a text of nothing but line ends takes no memory."""
    number, start = 0, 0
    while start < len(text):
        stop = text.find("\n", start)
        stop = len(text) if stop < 0 else stop
        number += 1
        line = text[start:stop]
        if line and not line.isspace():
            yield number, line
        start = stop + 1


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
