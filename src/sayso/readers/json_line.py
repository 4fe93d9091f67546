"""Values out of JSON that other people wrote: each comes back as the type that was asked for, or is a bad line.

The readers of JSON forms share these, so that no text, however odd its types, can raise anything but `BadLineError`.
"""

import json
import sys
from typing import Any

from sayso.readers.base import MAX_TOKENS, BadLineError
from sayso.records import NA_NAMES

_DECODER = json.JSONDecoder()
_LARGEST = sys.float_info.max


def json_object(text: str) -> dict[str, Any]:
    """Return the JSON object that the line is."""
    try:
        value = _decoded(text)
    except json.JSONDecodeError as error:
        raise BadLineError(f"not JSON: {error.msg.lower()} at character {error.pos + 1}") from error
    except RecursionError as error:
        raise BadLineError("not usable JSON: nested too deep") from error
    except ValueError as error:
        raise BadLineError("not usable JSON: a number has too many digits") from error
    if not isinstance(value, dict):
        raise BadLineError("the line is JSON but not an object {…}")
    if "\\u" in text:
        _refuse_half_characters(value)
    return value


def _decoded(text: str) -> Any:
    """Return what `json.loads` returns, without its search for space around, which nearly no line has."""
    if text.startswith("{"):
        value, end = _DECODER.raw_decode(text)
        if end == len(text):
            return value
    return json.loads(text)


def has_keys(text: str, *keys: str) -> bool:
    """Say whether the line is a JSON object with all these keys."""
    if not text.lstrip().startswith("{"):
        return False
    try:
        value = json_object(text)
    except BadLineError:
        return False
    return all(key in value for key in keys)


def string(record: dict[str, Any], key: str, default: str | None = None) -> str:
    """Return the string under the key, which must hold something unless there is a default."""
    value = record.get(key, default)
    if not isinstance(value, str):
        raise BadLineError(_absent(record, key) if value is None else f"{key!r} is {_kind(value)}, not a string")
    if default is None and not value.strip():
        raise BadLineError(f"{key!r} is empty")
    return value


def strings(record: dict[str, Any], key: str) -> list[str]:
    """Return the list of strings under the key."""
    value = record.get(key)
    if value is None:
        raise BadLineError(_absent(record, key))
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        raise BadLineError(f"{key!r} is not a list of strings")
    return value


def share(record: dict[str, Any], key: str) -> float:
    """Return the number from 0 to 1 under the key."""
    value = record.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadLineError(_absent(record, key) if value is None else f"{key!r} is {_kind(value)}, not a number")
    if not 0 <= value <= 1:
        raise BadLineError(f"{key!r} is {str(value)[:20]}, not a number from 0 to 1")
    return float(value)


def finite(record: dict[str, Any], key: str) -> float:
    """Return the number under the key, which must not be NaN or infinite."""
    value = record.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadLineError(_absent(record, key) if value is None else f"{key!r} is {_kind(value)}, not a number")
    if not -_LARGEST <= value <= _LARGEST:
        raise BadLineError(f"{key!r} is {str(value)[:20]}, not a finite number")
    return float(value)


def whole(record: dict[str, Any], key: str, least: int = 0) -> int:
    """Return the whole number under the key, at least this much."""
    value = record.get(key)
    if type(value) is not int or not least <= value < 2**53:
        raise BadLineError(_absent(record, key) if value is None else f"{key!r} is not a whole number from {least} on")
    return value


def objects(record: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the list of objects under the key."""
    value = record.get(key)
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise BadLineError(_absent(record, key) if value is None else f"{key!r} is not a list of objects {{…}}")
    return value


def nested(record: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the object under the key."""
    value = record.get(key)
    if not isinstance(value, dict):
        raise BadLineError(_absent(record, key) if value is None else f"{key!r} is {_kind(value)}, not an object {{…}}")
    return value


def integer_pair(value: object, what: str) -> tuple[int, int]:
    """Return the two integers of a list of two; `what` names it in the reason."""
    if isinstance(value, list) and len(value) == 2:
        first, second = value
        if type(first) is int and type(second) is int:
            return first, second
    raise BadLineError(f"{what} is not [start, stop], two whole numbers")


def without_na(relations: list[str]) -> tuple[str, ...]:
    """Return the relations; NA in any of its spellings is no relation."""
    if not all(relations):
        raise BadLineError("a relation's name is empty")
    return tuple(relation for relation in relations if relation not in NA_NAMES)


def check_tokens(tokens: object) -> list[str]:
    """Return the tokens of a list that are all words: strings, not empty, without white space inside."""
    if not isinstance(tokens, list) or not tokens:
        raise BadLineError("the tokens are not a list of strings with something in it")
    if len(tokens) > MAX_TOKENS:
        raise BadLineError(f"the sentence has {len(tokens):,} tokens, more than {MAX_TOKENS:,}")
    try:
        text = " ".join(tokens)
    except TypeError as error:
        raise BadLineError("a token is not a string") from error
    if not _are_words(text, tokens):
        raise BadLineError("a token is empty or has white space in it")
    return tokens


def _are_words(text: str, tokens: list[str]) -> bool:
    """Say whether the text, the tokens with spaces between them, falls apart into the same tokens."""
    # Searches in C over the whole sentence: of all white space only the space is printable. A loop over the tokens,
    # or splitting them again, would take as long as reading the JSON.
    if text.isprintable() and text.count(" ") == len(tokens) - 1 and "  " not in f" {text} ":
        return True
    return text.split() == tokens


def _refuse_half_characters(value: dict[str, Any]) -> None:
    r"""Refuse `\ud800` and the like, which JSON can spell but no file can hold."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise BadLineError("half of a character (a lone surrogate) is spelled out in it") from error
    except RecursionError as error:
        raise BadLineError("not usable JSON: nested too deep") from error


def _absent(record: dict[str, Any], key: str) -> str:
    return f"{key!r} is {'null' if key in record else 'missing'}"


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
