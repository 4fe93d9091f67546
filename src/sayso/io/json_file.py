"""Strict JSON objects with a checksum, written and read back by sayso.

The checksum covers the values, not the text: a file may be reformatted, but not changed.
"""

import json
import math
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from sayso.config import fill
from sayso.errors import BadConfigError, BadInputError, reason_of
from sayso.io.checksum import FILES, CheckedFiles, FileSum, is_verifying

CHECKSUM = "checksum"
_MARK = "crc32:"
_MOST_BYTES = 2**30
_Record = TypeVar("_Record")


class JsonError(ValueError):
    """The text is invalid or has been changed; the message says why."""


def sealed(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record with its checksum as the last key."""
    plain = {key: value for key, value in record.items() if key != CHECKSUM}
    return plain | {CHECKSUM: _checksum(json.loads(json.dumps(plain, allow_nan=False)))}


def to_json(record: Mapping[str, Any], indent: int | None = None) -> str:
    """Return the record and its checksum as JSON text, without a final newline."""
    return json.dumps(sealed(record), indent=indent, ensure_ascii=False)


def from_json(data: bytes | str) -> dict[str, Any]:
    """Parse an object and verify its checksum, which objects from early versions do not have.

    Raises:
        JsonError: not a JSON object, a number that is not finite or has over 64 bits, or a checksum that differs.
    """
    data = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    try:
        record: Any = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant)
        if not isinstance(record, dict):
            raise JsonError("not a JSON object")
        _refuse_odd_numbers(record)
        is_sealed = CHECKSUM in record or _MARK.encode() in data
        found = record.pop(CHECKSUM, None)
        if is_sealed and is_verifying() and found != _checksum(record):
            raise JsonError("the checksum differs")
    except JsonError:
        raise
    except json.JSONDecodeError as error:
        raise JsonError(f"not JSON: {error.msg.lower()} on line {error.lineno}") from None
    except UnicodeDecodeError:
        raise JsonError("not UTF-8 text") from None
    except RecursionError:
        raise JsonError("nested too deeply") from None
    except ValueError:
        raise JsonError("a number has too many digits") from None
    return record


def read_object(path: Path, what: str, advice: str) -> dict[str, Any]:
    """Read a JSON object from a file; `what` and `advice` are for the error message."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise JsonError("too large")
        return from_json(path.read_bytes())
    except OSError as error:
        raise BadInputError(f"{path}: {reason_of(error)}: {advice}") from error
    except JsonError as error:
        raise BadInputError(f"{path}: not a valid {what} ({error}): {advice}") from None


def has_checksum(path: Path) -> bool:
    """Return whether a file has one of our checksums, even if it is otherwise damaged."""
    return path.is_file() and f'"{_MARK}'.encode() in path.read_bytes()


def record_of(kind: type[_Record], table: Mapping[str, Any], is_open: bool = False) -> _Record:
    """Build a dataclass or named tuple from these values; raise `JsonError` if one has the wrong type.

    With `is_open`, unknown keys are ignored.
    """
    try:
        return fill(kind, table, {}, is_open=is_open)
    except BadConfigError as error:
        raise JsonError(str(error)) from None


def read_record(path: Path, kind: type[_Record], what: str, advice: str) -> _Record:
    """Read a JSON object from a file as a dataclass or named tuple, and check the types of its values."""
    return checked_record(path, kind, read_object(path, what, advice), what, advice)


def checked_record(
    path: Path, kind: type[_Record], table: Mapping[str, Any], what: str, advice: str, is_open: bool = False
) -> _Record:
    """Build a record like `record_of`; `path`, `what` and `advice` are for the error message."""
    try:
        return record_of(kind, table, is_open)
    except JsonError as error:
        raise BadInputError(f"{path}: not a valid {what} ({error}): {advice}") from None


def checked_files(path: Path, manifest: Mapping[str, Any], advice: str, in_memory: bool = False) -> CheckedFiles:
    """Return the files listed in the manifest that was read from this path."""
    sums = manifest.get(FILES)
    try:
        if sums is not None:
            sums = {name: record_of(FileSum, value) for name, value in sums.items()}
    except (JsonError, AttributeError, TypeError) as error:
        raise BadInputError(f"{path}: {FILES!r} has invalid checksums ({error}): {advice}") from None
    return CheckedFiles(path.parent, sums, advice, in_memory)


def _checksum(record: Any) -> str:
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    return f"{_MARK}{zlib.crc32(text.encode()):08x}"


def _refuse_constant(name: str) -> None:
    raise JsonError(f"{name} is not allowed")


def _refuse_odd_numbers(record: dict[str, Any]) -> None:
    waiting: list[Any] = [record]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict | list):
            waiting += value.values() if isinstance(value, dict) else value
        elif isinstance(value, float) and not math.isfinite(value):
            raise JsonError("a number is not finite")
        elif isinstance(value, int) and not -(2**63) <= value < 2**64:
            raise JsonError("a number has too many digits")
