"""Get typed values from users' JSON lines; a value of the wrong type raises `BadLineError`."""

import json
import sys
from typing import Any

from sayso.readers.base import BadLineError, check_length
from sayso.records import NA_NAMES

_DECODER = json.JSONDecoder()
_LARGEST = sys.float_info.max


def json_object(text: str) -> dict[str, Any]:
    """Parse the line as a JSON object."""
    try:
        # Faster than `json.loads`, for a line without white space around the object.
        value, end = _DECODER.raw_decode(text) if text.startswith("{") else (None, -1)
        value = value if end == len(text) else json.loads(text)
    except json.JSONDecodeError as error:
        raise BadLineError(f"not JSON: {error.msg.lower()} at character {error.pos + 1}") from error
    except RecursionError as error:
        raise BadLineError("not usable JSON: nested too deeply") from error
    except ValueError as error:
        raise BadLineError("not usable JSON: a number has too many digits") from error
    if not isinstance(value, dict):
        raise BadLineError("the line is valid JSON but not an object {…}")
    if "\\u" in text:
        _refuse_half_characters(value)
    return value


def has_keys(text: str, *keys: str) -> bool:
    """Return whether the line is a JSON object with all these keys."""
    if not text.lstrip().startswith("{"):
        return False
    try:
        value = json_object(text)
    except BadLineError:
        return False
    return all(key in value for key in keys)


def string(record: dict[str, Any], key: str, default: str | None = None) -> str:
    """Return the string under the key; without a default it must not be empty."""
    value = record.get(key, default)
    if not isinstance(value, str):
        raise _wrong(record, key, f"is {_kind(value)}, not a string")
    if default is None and not value.strip():
        raise BadLineError(f"{key!r} is empty")
    return value


def strings(record: dict[str, Any], key: str) -> list[str]:
    """Return the list of strings under the key."""
    value = record.get(key)
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        raise _wrong(record, key, "is not a list of strings")
    return value


def share(record: dict[str, Any], key: str) -> float:
    """Return the number from 0 to 1 under the key."""
    value = _number(record, key)
    if not 0 <= value <= 1:
        raise BadLineError(f"{key!r} is {str(value)[:20]}, not a number from 0 to 1")
    return float(value)


def finite(record: dict[str, Any], key: str) -> float:
    """Return the finite number under the key."""
    value = _number(record, key)
    if not -_LARGEST <= value <= _LARGEST:
        raise BadLineError(f"{key!r} is {str(value)[:20]}, not a finite number")
    return float(value)


def whole(record: dict[str, Any], key: str) -> int:
    """Return the integer under the key, which must not be negative."""
    value = record.get(key)
    if type(value) is not int or not 0 <= value < 2**53:
        raise _wrong(record, key, "is not a non-negative integer")
    return value


def objects(record: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the list of objects under the key."""
    value = record.get(key)
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise _wrong(record, key, "is not a list of objects {…}")
    return value


def nested(record: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the object under the key."""
    value = record.get(key)
    if not isinstance(value, dict):
        raise _wrong(record, key, f"is {_kind(value)}, not an object {{…}}")
    return value


def _number(record: dict[str, Any], key: str) -> int | float:
    value = record.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(record, key, f"is {_kind(value)}, not a number")
    return value


def _wrong(record: dict[str, Any], key: str, what: str) -> BadLineError:
    """Return the error for a value that is missing, null or of the wrong type."""
    if record.get(key) is None:
        what = "is null" if key in record else "is missing"
    return BadLineError(f"{key!r} {what}")


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false"}
    return names.get(type(value), "a number")


def integer_pair(value: object, what: str) -> tuple[int, int]:
    """Return a list of two integers as a tuple; `what` names it in the error."""
    if isinstance(value, list) and len(value) == 2:
        first, second = value
        if type(first) is int and type(second) is int:
            return first, second
    raise BadLineError(f"{what} is not a pair of integers [start, stop]")


def without_na(relations: list[str]) -> tuple[str, ...]:
    """Return the relations without NA in any of its spellings."""
    if not all(relations):
        raise BadLineError("a relation's name is empty")
    return tuple(relation for relation in relations if relation not in NA_NAMES)


def check_tokens(tokens: object) -> list[str]:
    """Return the tokens; raise `BadLineError` if one is not a string, is empty or contains white space."""
    if not isinstance(tokens, list) or not tokens:
        raise BadLineError("the tokens must be a non-empty list of strings")
    check_length(tokens)
    try:
        text = " ".join(tokens)
    except TypeError as error:
        raise BadLineError("a token is not a string") from error
    if not _are_words(text, tokens):
        raise BadLineError("a token is empty or contains white space")
    return tokens


def _are_words(text: str, tokens: list[str]) -> bool:
    """Return whether the text, which is the tokens joined by spaces, splits into the same tokens."""
    # These checks run in C over the whole sentence (the space is the only printable white space); a loop over the
    # tokens would take as long as parsing the JSON.
    if text.isprintable() and text.count(" ") == len(tokens) - 1 and "  " not in f" {text} ":
        return True
    return text.split() == tokens


def _refuse_half_characters(value: dict[str, Any]) -> None:
    r"""Raise `BadLineError` for a lone surrogate (`\ud800`), which JSON can spell but UTF-8 cannot encode."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise BadLineError("the line contains half of a character (a lone surrogate)") from error
    except RecursionError as error:
        raise BadLineError("not usable JSON: nested too deeply") from error
